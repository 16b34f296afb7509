/** One document of a stream, exactly as it stands there, marker and comments included. */
export interface Chunk {
  readonly text: string;
  /** The line on which it begins, from zero. */
  readonly firstLine: number;
}

/** A document that grows past the limit is reported with the line on which it began. */
export class TooLargeError extends Error {
  readonly firstLine: number;

  constructor(firstLine: number) {
    super('the document is too large');
    this.name = 'TooLargeError';
    this.firstLine = firstLine;
  }
}

/**
 * Cuts a stream of text into documents, piece by piece, so that no more than one document is held at a time. `---` at
 * the start of a line always begins a document and `...` always ends one, even inside of quotes; before the first line
 * of content, directives and comments belong to the document that follows.
 */
export class Splitter {
  readonly #limit: number;
  #rest = '';
  #lines: string[] = [];
  #size = 0;
  #line = 0;
  #firstLine = 0;
  #begun = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a piece of text, gives the documents that it completes. */
  *push(piece: string): Generator<Chunk> {
    const text = this.#rest + piece;
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      yield* this.#take(text.slice(start, end + 1));
      start = end + 1;
    }
    this.#rest = text.slice(start);
    if (this.#size + this.#rest.length > this.#limit) throw new TooLargeError(this.#firstLine);
  }

  /** Gives what is left at the end of the stream. */
  *end(): Generator<Chunk> {
    if (this.#rest !== '') yield* this.#take(this.#rest);
    if (this.#size > 0) yield this.#finish();
  }

  *#take(raw: string): Generator<Chunk> {
    // A byte order mark may stand before the very first marker.
    const line = this.#line === 0 && raw.startsWith('\ufeff') ? raw.slice(1) : raw;
    const mark = line.charCodeAt(0);
    const starts = mark === 45 && /^---(?:\s|$)/.test(line);
    const ends = mark === 46 && /^\.\.\.(?:\s|$)/.test(line);
    if (starts && this.#begun) yield this.#finish();
    if (!this.#begun) this.#begun = starts || !(mark === 35 || mark === 37 || /^\s*(#.*)?$/.test(line));
    this.#lines.push(raw);
    this.#size += raw.length;
    this.#line++;
    if (this.#size > this.#limit) throw new TooLargeError(this.#firstLine);
    if (ends) yield this.#finish();
  }

  #finish(): Chunk {
    const chunk = { text: this.#lines.join(''), firstLine: this.#firstLine };
    this.#lines = [];
    this.#size = 0;
    this.#firstLine = this.#line;
    this.#begun = false;
    return chunk;
  }
}
