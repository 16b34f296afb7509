import type { Paint } from './colour.js';
import { type Step, stepsBetween } from './shortest-edit.js';

const context = 3;

/**
 * Prints the unified diff of one file, document by document, so that a large file needs no more room than a small one. Hunks
 * go on over the border of documents, as `diff -u` of the whole file would have them; patch(1) counts on that.
 */
export class FileDiff {
  readonly #name: string;
  readonly #paint: Paint;
  /** The last unchanged lines before the next change. */
  #lead: Step[] = [];
  #hunk: Hunk | undefined;
  #oldLine = 1;
  #newLine = 1;
  #begun = false;
  #text = '';

  constructor(name: string, paint: Paint) {
    this.#name = name;
    this.#paint = paint;
  }

  /** Takes the next document; gives the hunks that are complete. */
  next(before: string, after: string): string {
    for (const step of stepsBetween(linesOf(before), linesOf(after))) this.#take(step);
    return this.#flush();
  }

  /** Gives what is left at the end of the file. */
  end(): string {
    this.#close();
    return this.#flush();
  }

  #take(step: Step): void {
    if (step.sign !== ' ') this.#change(step);
    else {
      this.#lead.push(step);
      // So many unchanged lines in a row that the next change is no longer near.
      if (this.#hunk !== undefined && this.#lead.length > context * 2) this.#close();
      if (this.#hunk === undefined && this.#lead.length > context) this.#lead.shift();
    }
    if (step.sign !== '+') this.#oldLine++;
    if (step.sign !== '-') this.#newLine++;
  }

  #change(step: Step): void {
    this.#hunk ??= {
      oldStart: this.#oldLine - this.#lead.length,
      newStart: this.#newLine - this.#lead.length,
      steps: [],
    };
    this.#hunk.steps.push(...this.#lead, step);
    this.#lead = [];
  }

  #close(): void {
    if (this.#hunk === undefined) return;
    this.#hunk.steps.push(...this.#lead.slice(0, context));
    this.#lead = this.#lead.slice(-context);
    const header = this.#begun ? [] : [`--- ${this.#name}`, `+++ ${this.#name} (injected)`];
    this.#begun = true;
    const lines = [...header.map((line) => this.#paint('bold', line)), ...hunkLines(this.#hunk, this.#paint)];
    this.#text += lines.map((line) => `${line}\n`).join('');
    this.#hunk = undefined;
  }

  #flush(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}

/** Lines without their line feed; a carriage return stays, or patch(1) would look for another line. */
function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  else lines.push(`${lines.pop()}\n\\ No newline at end of file`);
  return lines;
}

interface Hunk {
  readonly oldStart: number;
  readonly newStart: number;
  readonly steps: Step[];
}

function hunkLines({ oldStart, newStart, steps }: Hunk, paint: Paint): string[] {
  const count = (without: string) => steps.filter(({ sign }) => sign !== without).length;
  const range = (start: number, length: number) =>
    length === 1 ? `${start}` : `${length === 0 ? start - 1 : start},${length}`;
  const head = paint('cyan', `@@ -${range(oldStart, count('+'))} +${range(newStart, count('-'))} @@`);
  const colours = { '+': 'green', '-': 'red' } as const;
  return [head, ...steps.map(({ sign, line }) => (sign === ' ' ? ` ${line}` : paint(colours[sign], `${sign}${line}`)))];
}
