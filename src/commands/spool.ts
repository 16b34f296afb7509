import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { causeOf, Failure } from './failure.js';

/** Text up to this size stays in memory. */
const largestInMemory = 4 * 1024 * 1024;
const pieceSize = 256 * 1024;

/** Holds bytes until it is certain that they are wanted: a little in memory, much in a file that nobody else can read. */
export class Spool {
  #pieces: (string | Uint8Array)[] = [];
  #size = 0;
  #folder: string | undefined;
  #descriptor: number | undefined;

  write(piece: string | Uint8Array): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size > largestInMemory) this.#spill();
  }

  /** Gives everything back, piece by piece. */
  *read(): Generator<Uint8Array> {
    if (this.#descriptor === undefined) {
      for (const piece of this.#pieces) yield typeof piece === 'string' ? Buffer.from(piece) : piece;
      return;
    }
    this.#spill();
    const buffer = Buffer.alloc(pieceSize);
    for (let at = 0, length = 0; ; at += length) {
      length = readSync(this.#descriptor, buffer, 0, buffer.length, at);
      if (length === 0) return;
      yield buffer.subarray(0, length);
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#pieces = [];
    this.#descriptor = undefined;
    this.#folder = undefined;
  }

  #spill(): void {
    try {
      this.#descriptor ??= this.#open();
      for (const piece of this.#pieces)
        writeAll(this.#descriptor, typeof piece === 'string' ? Buffer.from(piece) : piece);
    } catch (error) {
      throw new Failure(`cannot write a temporary file in ${tmpdir()}: ${causeOf(error)}; TMPDIR names another folder`);
    }
    this.#pieces = [];
    this.#size = 0;
  }

  #open(): number {
    this.#folder = mkdtempSync(join(tmpdir(), 'signet-'));
    return openSync(join(this.#folder, 'spool'), 'wx+', 0o600);
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
}
