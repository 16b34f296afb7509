import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { causeOf, codeOf, Failure } from './failure.js';

/** Where a command writes. Passed in, so that tests see what a person would see. */
export interface Terminal {
  readonly out: (text: string | Uint8Array) => void;
  readonly err: (text: string) => void;
  readonly isColoured: boolean;
  readonly showsProgress: boolean;
}

/** Thrown when the reader of a pipe has gone: there is nobody left to tell. */
export class BrokenPipe extends Error {
  override readonly name = 'BrokenPipe';
}

/** Colour is for terminals that can show it, unless somebody says no (https://no-color.org). */
export function wantsColour(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  return isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
}

/** The process's own streams, written synchronously: nothing is lost when the process ends. */
export function processTerminal(): Terminal {
  return {
    out: (text) => write(1, text),
    err: (text) => write(2, text),
    isColoured: wantsColour(process.env, isatty(1)),
    showsProgress: isatty(2) && process.env.TERM !== 'dumb',
  };
}

function write(descriptor: number, text: string | Uint8Array): void {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(descriptor, bytes, done);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EPIPE') throw new BrokenPipe();
      if (code !== 'EAGAIN') throw new Failure(`cannot write the output: ${causeOf(error)}`);
      // A pipe that another process has made non-blocking is full; its reader needs a moment.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}
