import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { causeOf, Failure } from './failure.js';

/** So much stays in memory. */
const largestInMemory = 4 * 1024 * 1024;
const pieceSize = 1024 * 1024;

/** Holds text until it is certain that it is wanted: a little in memory, much in a file that nobody else can read. */
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

  /** Gives everything back, piece by piece; a piece is good until the next one is taken. */
  *read(): Generator<Uint8Array> {
    if (this.#descriptor !== undefined) {
      this.#spill();
      const buffer = Buffer.alloc(pieceSize);
      for (let at = 0, length = 0; ; at += length) {
        length = readSync(this.#descriptor, buffer, 0, buffer.length, at);
        if (length === 0) return;
        yield buffer.subarray(0, length);
      }
    }
    if (this.#size > 0) yield this.#joined();
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#pieces = [];
    this.#size = 0;
    this.#descriptor = undefined;
    this.#folder = undefined;
  }

  #spill(): void {
    try {
      this.#descriptor ??= this.#open();
      const bytes = this.#joined();
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done);
    } catch (error) {
      throw new Failure(`cannot write a temporary file in ${tmpdir()}: ${causeOf(error)}; TMPDIR names another folder`);
    }
    this.#pieces = [];
    this.#size = 0;
  }

  /** One piece out of many: a system call for each would cost more than the bytes. */
  #joined(): Uint8Array {
    const texts = this.#pieces.filter((piece) => typeof piece === 'string');
    if (texts.length === this.#pieces.length) return Buffer.from(texts.join(''));
    return Buffer.concat(this.#pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
  }

  #open(): number {
    this.#folder = mkdtempSync(join(tmpdir(), 'signet-'));
    return openSync(join(this.#folder, 'spool'), 'wx+', 0o600);
  }
}
