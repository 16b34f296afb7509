import type { Paint } from './colour.js';
import { type Step, stepsBetween } from './shortest-edit.js';

const context = 3;

/** Prints the unified diff of one file, document by document, so that a large file needs no more room than a small one. */
export class FileDiff {
  readonly #name: string;
  readonly #paint: Paint;
  #oldLine = 1;
  #newLine = 1;
  #begun = false;

  constructor(name: string, paint: Paint) {
    this.#name = name;
    this.#paint = paint;
  }

  /** The hunks of the next document, with the header of the file before the first; nothing when nothing changes. */
  next(before: string, after: string): string {
    const [old, fresh] = [linesOf(before), linesOf(after)];
    const hunks = before === after ? [] : hunksOf(stepsBetween(old, fresh), this.#oldLine, this.#newLine);
    this.#oldLine += old.length;
    this.#newLine += fresh.length;
    const header = hunks.length === 0 || this.#begun ? [] : [`--- ${this.#name}`, `+++ ${this.#name} (injected)`];
    this.#begun ||= hunks.length > 0;
    const lines = [
      ...header.map((line) => this.#paint('bold', line)),
      ...hunks.flatMap((hunk) => hunkLines(hunk, this.#paint)),
    ];
    return lines.map((line) => `${line}\n`).join('');
  }
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  if (lines.at(-1) === '') lines.pop();
  else lines.push(`${lines.pop()}\n\\ No newline at end of file`);
  return lines;
}

interface Hunk {
  readonly oldStart: number;
  readonly newStart: number;
  readonly steps: Step[];
}

/** Groups changed lines with the lines around them; changes that are near each other share a hunk. */
function hunksOf(steps: readonly Step[], oldFirst: number, newFirst: number): Hunk[] {
  const hunks: Hunk[] = [];
  let oldLine = oldFirst;
  let newLine = newFirst;
  let lastChange = Number.NEGATIVE_INFINITY;
  for (const [index, { sign }] of steps.entries()) {
    if (sign !== ' ') {
      const open = hunks.at(-1);
      if (open !== undefined && index - lastChange <= context * 2)
        open.steps.push(...steps.slice(lastChange + 1, index + 1));
      else {
        open?.steps.push(...steps.slice(lastChange + 1, lastChange + 1 + context));
        const lead = Math.min(context, index);
        hunks.push({ oldStart: oldLine - lead, newStart: newLine - lead, steps: steps.slice(index - lead, index + 1) });
      }
      lastChange = index;
    }
    if (sign !== '+') oldLine++;
    if (sign !== '-') newLine++;
  }
  hunks.at(-1)?.steps.push(...steps.slice(lastChange + 1, lastChange + 1 + context));
  return hunks;
}

function hunkLines({ oldStart, newStart, steps }: Hunk, paint: Paint): string[] {
  const count = (without: string) => steps.filter(({ sign }) => sign !== without).length;
  const [oldCount, newCount] = [count('+'), count('-')];
  const range = (start: number, length: number) =>
    length === 1 ? `${start}` : `${length === 0 ? start - 1 : start},${length}`;
  const head = paint('cyan', `@@ -${range(oldStart, oldCount)} +${range(newStart, newCount)} @@`);
  const colours = { '+': 'green', '-': 'red' } as const;
  return [head, ...steps.map(({ sign, line }) => (sign === ' ' ? ` ${line}` : paint(colours[sign], `${sign}${line}`)))];
}
