import type { ListNode, MapNode, Node, Pair, ScalarNode } from './node.js';

/** Thrown inside of this file alone: the document has something that it does not know. */
class NotSimple extends Error {}

const notSimple = new NotSimple();

/**
 * Reads the YAML that most manifests are made of: block maps and lists, scalars and flow collections on one line, no
 * anchors, tags or escapes, and of block scalars only the plain `|`. Whatever else there is, or anything wrong, gives `undefined`, and the yaml
 * package reads the document instead. It takes a sixth of that package's time, which decides how fast a stream is.
 */
export function parseSimple(text: string): Node | undefined {
  if (/[^\x20-\x7e\r\n]|\r(?!\n)/.test(text)) return undefined;
  try {
    return new Simple(text).document();
  } catch (error) {
    // Nested deeper than the stack is: the yaml package has a word for it.
    if (error === notSimple || error instanceof RangeError) return undefined;
    throw error;
  }
}

const key = /([A-Za-z0-9_][A-Za-z0-9_./-]*|"[^"\\\r\n]*"|'[^'\r\n]*')(:)(?= |\r?\n|$)/y;
const blank = /(?:[ ]*(?:#.*)?\r?(?:\n|$))*/y;
/** A comment needs a blank before it. */
const restOfLine = /(?: +#.*| *)\r?(?=\n|$)/y;
const plain =
  /[A-Za-z0-9_./$+~^();<=](?:[^\r\n:# ]|:(?=[^\s])|(?<=[^\s])#| +(?=[^\s#:]))*|-(?=[^\s-])(?:[^\r\n:# ]|:(?=[^\s])|(?<=[^\s])#| +(?=[^\s#:]))*|--+(?=[A-Za-z])(?:[^\r\n:# ]|:(?=[^\s])|(?<=[^\s])#| +(?=[^\s#:]))*/y;
const quoted = /"[^"\\\r\n]*"|'[^'\r\n]*'/y;
const flowPlain =
  /(?:[A-Za-z0-9_./$+~^]|-(?=[A-Za-z0-9_.]))(?:[A-Za-z0-9_./$+~^@%*=()-]| (?=[A-Za-z0-9_./$+~^@%*=()-]))*/y;

class Simple {
  readonly #text: string;
  #at = 0;
  /** Column of the content at the current position. */
  #column = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Node {
    this.#skipBlank();
    if (this.#column === 0 && this.#text.startsWith('---', this.#at)) {
      this.#at += 3;
      this.#endLine();
      this.#skipBlank();
    }
    const root = this.#block(0);
    if (this.#at < this.#text.length) throw notSimple;
    return root;
  }

  /** Goes to the next line with content. A marker can only end the document, which the splitter has done already. */
  #skipBlank(): void {
    blank.lastIndex = this.#at;
    blank.test(this.#text);
    this.#at = blank.lastIndex;
    let end = this.#at;
    while (this.#text.charCodeAt(end) === 32) end++;
    this.#column = end - this.#at;
    this.#at = end;
    if (this.#column === 0 && /^(?:---|\.\.\.|%)/.test(this.#text.slice(end, end + 3))) {
      if (!(this.#text.startsWith('---', end) && /^[\s#]*$/.test(this.#text.slice(0, end).replaceAll(/#.*/g, ''))))
        throw notSimple;
    }
  }

  /** A map or list whose lines begin at the current column, which must be at least so far in. */
  #block(least: number): Node {
    if (this.#at >= this.#text.length || this.#column < least) throw notSimple;
    return this.#isDash() ? this.#list(this.#column) : this.#map(this.#column);
  }

  #isDash(): boolean {
    return this.#text.charCodeAt(this.#at) === 45 && /[ \r\n]|^$/.test(this.#text.charAt(this.#at + 1));
  }

  #map(column: number): MapNode {
    const start = this.#at;
    const pairs: Pair[] = [];
    do {
      const name = this.#key();
      pairs.push({ key: name, value: this.#value(column, name.end + 1) });
    } while (this.#at < this.#text.length && this.#column === column && !this.#isDash());
    this.#leave(column);
    return { kind: 'map', flow: false, pairs, anchor: undefined, start, end: endOfPairs(pairs) };
  }

  /** After a collection something further out must follow, or a dash of the list around it. */
  #leave(column: number): void {
    if (this.#at < this.#text.length && this.#column > column) throw notSimple;
  }

  #key(): ScalarNode {
    key.lastIndex = this.#at;
    const match = key.exec(this.#text);
    const word = match?.[1];
    if (word === undefined) throw notSimple;
    const start = this.#at;
    this.#at += word.length + 1;
    return scalar(word, start);
  }

  /** What stands behind a colon: something on the line, or a block below it, or nothing. */
  #value(column: number, colonEnd: number): Node {
    const inline = this.#inline(column);
    if (inline !== undefined) return inline;
    this.#endLine();
    this.#skipBlank();
    if (this.#at < this.#text.length) {
      if (this.#column > column) return this.#block(column + 1);
      if (this.#column === column && this.#isDash()) return this.#list(column);
    }
    return {
      kind: 'scalar',
      source: '',
      plain: true,
      tag: undefined,
      anchor: undefined,
      start: colonEnd,
      end: colonEnd,
    };
  }

  #list(column: number): ListNode {
    const start = this.#at;
    const items: Node[] = [];
    while (this.#at < this.#text.length && this.#column === column && this.#isDash()) {
      this.#at++;
      items.push(this.#item(column));
    }
    this.#leave(column);
    const end = items.at(-1)?.end ?? start;
    return { kind: 'list', flow: false, items, anchor: undefined, start, end };
  }

  #item(column: number): Node {
    let at = this.#at;
    while (this.#text.charCodeAt(at) === 32) at++;
    key.lastIndex = at;
    if (key.test(this.#text)) {
      this.#column = column + 1 + (at - this.#at);
      this.#at = at;
      return this.#map(this.#column);
    }
    const inline = this.#inline(column);
    if (inline !== undefined) return inline;
    this.#endLine();
    this.#skipBlank();
    return this.#block(column + 1);
  }

  /** A scalar or flow collection on the rest of the line; further lines that go on with it are not simple. */
  #inline(column: number): Node | undefined {
    const from = this.#at;
    while (this.#text.charCodeAt(this.#at) === 32) this.#at++;
    const first = this.#text.charAt(this.#at);
    if (first === '' || first === '\n' || first === '\r' || first === '#') {
      if (first === '#' && this.#at === from) throw notSimple;
      this.#at = from;
      return undefined;
    }
    if (first === '|') return this.#literal(column);
    const node =
      first === '{' || first === '[' ? this.#flow() : this.#scalar(first === '"' || first === "'" ? quoted : plain);
    this.#endLine();
    this.#skipBlank();
    if (this.#at < this.#text.length && this.#column > column) throw notSimple;
    return node;
  }

  #scalar(pattern: RegExp): ScalarNode {
    pattern.lastIndex = this.#at;
    const [word] = pattern.exec(this.#text) ?? [];
    if (word === undefined) throw notSimple;
    const start = this.#at;
    this.#at += word.length;
    return scalar(word, start);
  }

  /** The lines below that are further in than the key; blank ones at the end do not count, and one line end stays. */
  #literal(column: number): ScalarNode {
    const start = this.#at++;
    this.#endLine();
    let indent = 0;
    let end = this.#at;
    const lines: string[] = [];
    let blanks = 0;
    while (this.#at < this.#text.length) {
      const next = this.#text.indexOf('\n', this.#at) + 1 || this.#text.length;
      const line = this.#text.slice(this.#at, next).replace(/\r?\n$/, '');
      const lead = line.length - line.trimStart().length;
      if (line.trim() === '') {
        if (indent === 0 ? lead > 0 : lead > indent) throw notSimple;
        blanks++;
      } else {
        if (indent === 0) indent = lead;
        if (indent <= column) throw notSimple;
        if (lead < indent) break;
        while (blanks > 0) {
          lines.push('');
          blanks--;
        }
        lines.push(line.slice(indent));
        end = next;
      }
      this.#at = next;
    }
    if (lines.length === 0 || !this.#text.slice(0, end).endsWith('\n')) throw notSimple;
    this.#at = end;
    this.#skipBlank();
    if (this.#at < this.#text.length && this.#column > column) throw notSimple;
    return {
      kind: 'scalar',
      source: `${lines.join('\n')}\n`,
      plain: false,
      tag: undefined,
      anchor: undefined,
      start,
      end,
    };
  }

  #endLine(): void {
    restOfLine.lastIndex = this.#at;
    if (!restOfLine.test(this.#text)) throw notSimple;
    this.#at = Math.min(restOfLine.lastIndex + 1, this.#text.length);
  }

  #flow(): Node {
    const start = this.#at;
    const isMap = this.#text.charAt(this.#at++) === '{';
    const close = isMap ? '}' : ']';
    const pairs: Pair[] = [];
    const items: Node[] = [];
    for (this.#spaces(); this.#text.charAt(this.#at) !== close; this.#spaces()) {
      if (isMap) pairs.push(this.#flowPair());
      else items.push(this.#flowItem());
      this.#spaces();
      const next = this.#text.charAt(this.#at);
      if (next === ',') this.#at++;
      else if (next !== close) throw notSimple;
    }
    const end = ++this.#at;
    const common = { flow: true, anchor: undefined, start, end } as const;
    return isMap ? { kind: 'map', pairs, ...common } : { kind: 'list', items, ...common };
  }

  #flowPair(): Pair {
    const name = this.#scalar(/["']/.test(this.#text.charAt(this.#at)) ? quoted : flowPlain);
    const gap = this.#text.slice(this.#at, this.#at + 2);
    if (gap !== ': ') throw notSimple;
    this.#at += 2;
    this.#spaces();
    return { key: name, value: this.#flowItem() };
  }

  #flowItem(): Node {
    const first = this.#text.charAt(this.#at);
    if (first === '{' || first === '[') return this.#flow();
    const node = this.#scalar(first === '"' || first === "'" ? quoted : flowPlain);
    if (!/[,\]} ]/.test(this.#text.charAt(this.#at))) throw notSimple;
    if (node.plain && node.source.startsWith('-') && !/^-[\w.]/.test(node.source)) throw notSimple;
    return node;
  }

  #spaces(): void {
    while (this.#text.charCodeAt(this.#at) === 32) this.#at++;
  }
}

function scalar(word: string, start: number): ScalarNode {
  const isQuoted = word.startsWith('"') || word.startsWith("'");
  const source = isQuoted ? word.slice(1, -1) : word;
  return {
    kind: 'scalar',
    source,
    plain: !isQuoted,
    tag: undefined,
    anchor: undefined,
    start,
    end: start + word.length,
  };
}

function endOfPairs(pairs: readonly Pair[]): number {
  const last = pairs.at(-1);
  return last?.value?.end ?? last?.key.end ?? 0;
}
