import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { causeOf, Failure } from './failure.js';

/** So much stays in memory. One buffer is used over and over: pieces that were joined anew would be garbage each time. */
const capacity = 1024 * 1024;

/** Holds text until it is certain that it is wanted: a little in memory, much in a file that nobody else can read. */
export class Spool {
  #buffer = Buffer.alloc(0);
  #used = 0;
  #folder: string | undefined;
  #descriptor: number | undefined;

  write(piece: string | Uint8Array): void {
    const size = typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
    if (this.#buffer.length === 0) this.#buffer = Buffer.allocUnsafe(capacity);
    if (size > capacity - this.#used) this.#spill();
    if (size > capacity) this.#append(typeof piece === 'string' ? Buffer.from(piece) : piece);
    else {
      if (typeof piece === 'string') this.#buffer.write(piece, this.#used);
      else this.#buffer.set(piece, this.#used);
      this.#used += size;
    }
  }

  /** Gives everything back, piece by piece; a piece is good until the next one is taken. */
  *read(): Generator<Uint8Array> {
    if (this.#descriptor === undefined) {
      yield this.#buffer.subarray(0, this.#used);
      return;
    }
    this.#spill();
    for (let at = 0, length = 0; ; at += length) {
      length = readSync(this.#descriptor, this.#buffer, 0, capacity, at);
      if (length === 0) return;
      yield this.#buffer.subarray(0, length);
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#used = 0;
    this.#descriptor = undefined;
    this.#folder = undefined;
  }

  #spill(): void {
    const bytes = this.#buffer.subarray(0, this.#used);
    this.#used = 0;
    this.#append(bytes);
  }

  #append(bytes: Uint8Array): void {
    try {
      this.#descriptor ??= this.#open();
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done);
    } catch (error) {
      throw new Failure(`cannot write a temporary file in ${tmpdir()}: ${causeOf(error)}; TMPDIR names another folder`);
    }
  }

  #open(): number {
    this.#folder = mkdtempSync(join(tmpdir(), 'signet-'));
    return openSync(join(this.#folder, 'spool'), 'wx+', 0o600);
  }
}
