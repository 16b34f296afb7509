const outsideStrings = /["{}[\]]/g;
const insideStrings = /["\\]/g;

/** An object may be this large, in characters: more than twice of what the API server takes. */
const largest = 8 * 1024 * 1024;

/** Text that is no JSON, or holds more in one object than there can be. */
export class ItemError extends Error {
  override readonly name = 'ItemError';
}

/**
 * Cuts `kubectl get … -o json` into its objects, as its text comes in: each item of a List by itself, and an object that is no
 * List as a whole. Nothing but the object at hand is kept, so a list of any length needs no more memory than its largest item.
 */
export class ItemSplitter {
  #text = '';
  #at = 0;
  /** Where the object at hand begins, and where the string. */
  #start = 0;
  #quote = 0;
  #depth = 0;
  #inString = false;
  #key = '';
  #inItems = false;
  #sawItems = false;
  #sawList = false;

  /** Whether there was a List, be it an empty one. */
  get sawList(): boolean {
    return this.#sawList;
  }

  /** Takes a piece of text, and gives the objects that it completes. */
  *push(piece: string): Generator<string> {
    this.#text += piece;
    while (this.#at < this.#text.length) {
      const marks = this.#inString ? insideStrings : outsideStrings;
      marks.lastIndex = this.#at;
      const found = marks.exec(this.#text);
      if (found === null) {
        this.#at = this.#text.length;
        break;
      }
      const isEscape = found[0] === '\\';
      // What is escaped may be in the next piece.
      if (isEscape && found.index + 1 >= this.#text.length) {
        this.#at = found.index;
        break;
      }
      this.#at = found.index + (isEscape ? 2 : 1);
      if (this.#inString && !isEscape) this.#closeString(found.index);
      else if (!this.#inString) {
        const object = this.#mark(found[0], found.index);
        if (object !== undefined) yield object;
      }
    }
    this.#forget();
  }

  /** Everything must have been closed. */
  end(): void {
    if (this.#depth > 0 || this.#inString) throw new ItemError('the text ends in the middle of an object');
  }

  #closeString(end: number): void {
    this.#inString = false;
    if (this.#depth === 1) this.#key = this.#text.slice(this.#quote, end);
  }

  #mark(mark: string, index: number): string | undefined {
    if (mark === '"') {
      this.#inString = true;
      this.#quote = index + 1;
      return undefined;
    }
    return mark === '{' || mark === '[' ? this.#open(mark, index) : this.#close(mark, index);
  }

  #open(mark: string, index: number): undefined {
    if (this.#depth === 1 && mark === '[' && this.#key === 'items') {
      this.#inItems = true;
      this.#sawItems = true;
      this.#sawList = true;
    }
    if (this.#isBetween()) this.#start = index;
    this.#depth++;
  }

  #close(mark: string, index: number): string | undefined {
    this.#depth--;
    if (this.#depth < 0) throw new ItemError(`a ${mark} closes nothing`);
    const object = this.#text.slice(this.#start, index + 1);
    if (this.#inItems && this.#depth === 2) return object;
    if (this.#depth === 1) this.#inItems = false;
    if (this.#depth > 0) return undefined;
    const isList = this.#sawItems;
    this.#sawItems = false;
    this.#key = '';
    return isList ? undefined : object;
  }

  /** Between two objects nothing needs to be kept: before the first, after the last, and between the items of a List. */
  #isBetween(): boolean {
    return this.#depth === 0 || (this.#inItems && this.#depth === 2);
  }

  #forget(): void {
    // Behind the items of a List only the key at hand matters: nobody asks for the List itself any more.
    const isBehind = this.#sawItems && !this.#inItems;
    const behind = this.#inString && this.#depth === 1 ? this.#quote : this.#at;
    const from = this.#isBetween() ? this.#at : isBehind ? behind : this.#start;
    if (this.#text.length - from > largest) throw new ItemError('an object is larger than 8 MiB');
    this.#text = this.#text.slice(from);
    this.#at -= from;
    this.#quote -= from;
    this.#start = 0;
  }
}
