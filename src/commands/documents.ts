import { isManifestError } from '../manifest/errors.js';
import type { Chunk } from '../manifest/split.js';
import { Failure } from './failure.js';
import { documentsOf, type Input } from './input.js';
import type { Terminal } from './terminal.js';

/** So many mistakes are told before a command gives up. */
const mostMistakes = 20;
const progressEvery = 200;

/** Goes through all documents of all inputs. Mistakes are gathered, so that one run tells them all, and then end the command. */
export function eachDocument(
  inputs: readonly Input[],
  terminal: Terminal,
  visit: (chunk: Chunk, input: Input, isFirst: boolean) => void,
): void {
  const mistakes: string[] = [];
  const progress = new Progress(terminal);
  for (const input of inputs) {
    let isFirst = true;
    try {
      for (const chunk of documentsOf(input)) {
        try {
          visit(chunk, input, isFirst);
        } catch (error) {
          mistakes.push(mistakeText(error));
          if (mistakes.length >= mostMistakes)
            throw new Failure(`${mistakes.join('\n')}\ntoo many mistakes; the rest was not read`);
        }
        isFirst = false;
        progress.count();
      }
    } catch (error) {
      mistakes.push(mistakeText(error));
    }
  }
  progress.end();
  if (mistakes.length > 0) throw new Failure(mistakes.join('\n'));
}

/** A mistake in an input as a person reads it; anything else is a bug of ours and goes on. */
export function mistakeText(error: unknown): string {
  if (!isManifestError(error)) throw error;
  const { place, message, excerpt } = error;
  return `${place.file}:${place.line}:${place.column}: ${message}${excerpt === undefined ? '' : `\n${excerpt}`}`;
}

/** A line on the terminal that counts, once there is so much that somebody might wonder. */
class Progress {
  readonly #terminal: Terminal;
  readonly #start = Date.now();
  #last = 0;
  #documents = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  count(): void {
    this.#documents++;
    if (!this.#terminal.showsProgress || this.#documents % 64 !== 0) return;
    const now = Date.now();
    if (now - this.#start < 1000 || now - this.#last < progressEvery) return;
    this.#last = now;
    this.#terminal.err(`\r${this.#documents} documents …`);
  }

  end(): void {
    if (this.#last > 0) this.#terminal.err('\r\u001b[K');
  }
}
