import { isObject } from '../json.js';
import { parseManifest } from '../manifest/parse.js';
import { writeJson, writeYaml } from '../manifest/whole.js';
import { Failure } from './failure.js';
import type { Given } from './flags.js';
import { Spool } from './spool.js';
import type { Terminal } from './terminal.js';

/** How documents are written: as they came, or all in one format. */
export type Format = 'yaml' | 'json' | undefined;

/** Reads `--output`; without it documents stay in the format they came in. */
export function formatFrom(given: Given): Format {
  const format = given.last('output');
  if (format === undefined || format === 'yaml' || format === 'json') return format;
  throw new Failure(`--output takes yaml or json; found ${JSON.stringify(format)}`);
}

/** True when the first line that is neither blank nor comment is `---`; a directive needs the marker that follows it kept apart. */
function beginsWithMarker(text: string): boolean {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start) + 1 || text.length;
    const line = text
      .slice(start, end)
      .replace(/^\ufeff/, '')
      .trim();
    if (line !== '' && !line.startsWith('#')) return /^---(\s|$)/.test(line);
    start = end;
  }
  return false;
}

/** Gathers documents until everything is known to be well, and puts markers between files that have none. */
export class Output {
  readonly #spool = new Spool();
  readonly #format: Format;
  #end = '';
  #documents = 0;

  constructor(format: Format) {
    this.#format = format;
  }

  /** Takes a document; the first of a file may need to be kept apart from what was before. */
  add(text: string, isFirstOfFile: boolean): void {
    if (this.#format !== undefined) {
      this.#addConverted(text, this.#format);
      return;
    }
    if (isFirstOfFile && this.#end !== '') {
      if (!this.#end.endsWith('\n')) this.#write('\n');
      const bothJson = /^\s*[{[]/.test(text) && /[}\]]\s*$/.test(this.#end);
      // A directive is only read as one when the document before it has been ended.
      if (text.startsWith('%')) this.#write('...\n');
      else if (!bothJson && !beginsWithMarker(text)) this.#write('---\n');
      // A mark of the byte order belongs to the beginning of a stream, and this is none any more.
      this.#write(text.replace(/^\ufeff/, ''));
      return;
    }
    this.#write(text);
  }

  #addConverted(text: string, format: 'yaml' | 'json'): void {
    const { json } = parseManifest(text, '');
    if (!isObject(json)) return;
    if (format === 'yaml') this.#write(`${this.#documents > 0 ? '---\n' : ''}${writeYaml(json)}`);
    else this.#write(`${this.#documents > 0 ? ',\n' : ''}${writeJson(json).trimEnd()}`);
    this.#documents++;
  }

  #write(text: string): void {
    if (text === '') return;
    this.#spool.write(text);
    this.#end = text.slice(-8);
  }

  /** Lets everything out. */
  flush(terminal: Terminal): void {
    // Several objects in JSON are one List, which everybody can read; JSON has no other way to be more than one.
    const isList = this.#format === 'json' && this.#documents > 1;
    if (isList) terminal.out('{"apiVersion": "v1", "kind": "List", "items": [\n');
    try {
      for (const bytes of this.#spool.read()) terminal.out(bytes);
      if (this.#format === 'json') terminal.out(isList ? '\n]}\n' : this.#documents > 0 ? '\n' : '');
    } finally {
      this.#spool.close();
    }
  }

  close(): void {
    this.#spool.close();
  }
}
