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

const worthLooking = 64 * 1024;

// Only a line feed begins a line here: `^` would also match behind a bare carriage return and U+2028.
const marker = /(?<=\n|^\ufeff?)(?:---|\.\.\.)(?=[ \t\r\n]|$)/g;

/**
 * Cuts a stream of text into documents, piece by piece, so that no more than one document is held at a time. `---` at
 * the start of a line always begins a document and `...` always ends one, even inside of quotes; before the first line
 * of content, directives and comments belong to the document that follows.
 */
export class Splitter {
  readonly #limit: number;
  /** Text of the document that is not complete yet; a marker counts only once its line is. */
  #rest = '';
  #searched = 0;
  #firstLine = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a piece of text, gives the documents that it completes. */
  *push(piece: string): Generator<Chunk> {
    this.#rest += piece;
    // Looking goes over all of the text: of a writer who sends a line at a time, not at every line.
    if (this.#rest.length - this.#searched < worthLooking) return;
    yield* this.#complete();
    if (this.#rest.length > this.#limit) throw new TooLargeError(this.#firstLine);
  }

  /** Gives what is left at the end of the stream. */
  *end(): Generator<Chunk> {
    yield* this.#complete(true);
    if (this.#rest !== '') yield this.#chunk(this.#rest);
  }

  *#complete(isLast = false): Generator<Chunk> {
    let text = this.#rest;
    let from = 0;
    marker.lastIndex = this.#searched;
    for (let match = marker.exec(text); match !== null; match = marker.exec(text)) {
      const at = match.index;
      const ends = match[0] === '...';
      const lineEnd = text.indexOf('\n', at) + 1 || (isLast ? text.length : 0);
      if (lineEnd === 0) break;
      if (!ends && !hasContent(text.slice(from, at))) continue;
      const to = ends ? lineEnd : at;
      yield this.#chunk(text.slice(from, to));
      from = to;
      marker.lastIndex = ends ? to : lineEnd;
    }
    text = text.slice(from);
    this.#rest = text;
    // A marker that is cut off at the end of the piece must be looked at again.
    this.#searched = text.lastIndexOf('\n') + 1;
  }

  #chunk(text: string): Chunk {
    if (text.length > this.#limit) throw new TooLargeError(this.#firstLine);
    const chunk = { text, firstLine: this.#firstLine };
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.#firstLine++;
    return chunk;
  }
}

/** True once there is a marker, or a line that is neither blank nor comment nor directive. */
function hasContent(text: string): boolean {
  return /^(?![ \t]*(?:#|\r?$)|%)[^\n]/m.test(text.startsWith('\ufeff') ? text.slice(1) : text);
}
