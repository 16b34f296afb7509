/** A place in a file, counted from one, as editors count. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Something wrong with an input, told with its place and, where that helps, the line itself. */
export class ManifestError extends Error {
  readonly place: Place;
  readonly excerpt: string | undefined;

  constructor(place: Place, message: string, excerpt?: string) {
    super(message);
    this.name = 'ManifestError';
    this.place = place;
    this.excerpt = excerpt;
  }
}

/** Told by its name: a program of several bundles has the class several times. */
export function isManifestError(error: unknown): error is ManifestError {
  return error instanceof Error && error.name === 'ManifestError';
}

const widest = 120;

/** The line at an offset with a caret below, cut to what fits a terminal. */
export function excerptAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  const line = text.slice(start, end < 0 ? undefined : end).replace(/\r$/, '');
  const column = offset - start;
  const from = Math.max(0, column - widest + 20);
  const before = line.slice(from, column).replaceAll(/[^\t]/g, ' ');
  return `    ${line.slice(from, from + widest)}\n    ${before}^`;
}
