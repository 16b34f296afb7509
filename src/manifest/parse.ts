import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import { excerptAt, ManifestError, type Place } from './errors.js';
import { readPlain } from './scalar.js';

export type Node = Alias | Scalar | YAMLMap | YAMLSeq;

/** One document of a stream: its text, its nodes with their offsets, and what Kubernetes would read from it. */
export interface Manifest {
  readonly file: string;
  /** The line of the file on which the text begins, from zero. */
  readonly firstLine: number;
  readonly text: string;
  readonly root: Node | undefined;
  readonly json: Json;
  readonly anchors: Anchors;
}

/** Anchored nodes by name, and the aliases that refer to each. */
export interface Anchors {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly aliases: ReadonlyMap<string, readonly Alias[]>;
}

/** More nodes than any manifest has once its aliases are followed; a small file can ask for billions. */
const largestExpansion = 200_000;

const options = {
  schema: 'failsafe',
  uniqueKeys: false,
  prettyErrors: false,
  resolveKnownTags: false,
  logLevel: 'error',
} as const;

/** Parses one document; what is wrong with it is thrown with its line and column. */
export function parseManifest(text: string, file: string, firstLine = 0): Manifest {
  const fail = (offset: number, message: string): never => {
    throw new ManifestError(placeAt({ file, firstLine, text }, offset), message, excerptAt(text, offset));
  };
  let document: Document.Parsed;
  try {
    document = parseDocument(text, options);
  } catch (error) {
    if (error instanceof RangeError) return fail(0, 'the document is nested too deeply');
    throw error;
  }
  const [error] = document.errors;
  if (error !== undefined) return fail(Math.min(error.pos[0], text.length), sentenceOf(error.message));
  const contents: unknown = document.contents;
  const root = isNode(contents) ? contents : undefined;
  const reader = new Reader(text, fail);
  return { file, firstLine, text, root, json: root === undefined ? null : reader.read(root), anchors: reader.anchors };
}

/** Line and column of an offset in a document. */
export function placeAt(
  { file, firstLine, text }: Pick<Manifest, 'file' | 'firstLine' | 'text'>,
  offset: number,
): Place {
  let line = firstLine + 1;
  let start = 0;
  for (let next = text.indexOf('\n'); next >= 0 && next < offset; next = text.indexOf('\n', next + 1)) {
    line++;
    start = next + 1;
  }
  return { file, line, column: offset - start + 1 };
}

export function isNode(value: unknown): value is Node {
  return isMap(value) || isSeq(value) || isScalar(value) || isAlias(value);
}

export function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** yaml's sentences begin with a capital and sometimes end in advice for programmers. */
function sentenceOf(message: string): string {
  return message.replace(/^[A-Z](?=[a-z])/, (one) => one.toLowerCase());
}

/** Turns nodes into JSON, following aliases and merges; checks what the parser was told to let pass. */
class Reader {
  readonly #text: string;
  readonly #fail: (offset: number, message: string) => never;
  readonly #nodes = new Map<string, Node>();
  readonly #aliases = new Map<string, Alias[]>();
  readonly #values = new Map<string, { readonly json: Json; readonly size: number }>();
  readonly #open = new Set<string>();
  #size = 0;

  constructor(text: string, fail: (offset: number, message: string) => never) {
    this.#text = text;
    this.#fail = fail;
  }

  get anchors(): Anchors {
    return { nodes: this.#nodes, aliases: this.#aliases };
  }

  read(node: Node): Json {
    if (isAlias(node)) return this.#readAlias(node);
    const { anchor } = node;
    if (anchor === undefined) return this.#readValue(node);
    const before = this.#size;
    this.#nodes.set(anchor, node);
    this.#open.add(anchor);
    const json = this.#readValue(node);
    this.#open.delete(anchor);
    this.#values.set(anchor, { json, size: this.#size - before });
    return json;
  }

  #readValue(node: Scalar | YAMLMap | YAMLSeq): Json {
    this.#size++;
    if (isScalar(node)) return readScalar(node);
    if (isMap(node)) return this.#readMap(node);
    return node.items.map((item) => (isNode(item) ? this.read(item) : null));
  }

  #readAlias(alias: Alias): Json {
    const uses = this.#aliases.get(alias.source);
    if (uses === undefined) this.#aliases.set(alias.source, [alias]);
    else uses.push(alias);
    const known = this.#values.get(alias.source);
    if (this.#open.has(alias.source))
      return this.#fail(startOf(alias), `the alias *${alias.source} stands inside of what it refers to`);
    if (known === undefined) return this.#fail(startOf(alias), `there is no anchor &${alias.source} before this alias`);
    this.#size += known.size;
    if (this.#size > largestExpansion) {
      return this.#fail(
        startOf(alias),
        `the document is too large once its aliases are followed (more than ${largestExpansion} values)`,
      );
    }
    return known.json;
  }

  #readMap(map: YAMLMap): JsonObject {
    const entries = new Map<string, Json>();
    let merged: JsonObject | undefined;
    for (const { key, value } of map.items) {
      if (isMergeKey(key)) {
        merged = { ...this.#readMerge(value, startOf(key)), ...merged };
        continue;
      }
      const name = isScalar(key) ? keyOf(key) : isNode(key) ? this.#oddKey(key) : '';
      if (entries.has(name) && isNode(key)) this.#duplicate(map, name, key);
      entries.set(name, isNode(value) ? this.read(value) : null);
    }
    const own = Object.fromEntries(entries);
    return merged === undefined ? own : { ...merged, ...own };
  }

  #oddKey(key: Node): string {
    const json = this.read(key);
    return isObject(json) || isArray(json)
      ? this.#fail(startOf(key), 'a key must be a single word or text')
      : String(json);
  }

  #readMerge(value: unknown, offset: number): JsonObject {
    const json = isNode(value) ? this.read(value) : null;
    const maps = isArray(json) ? json : [json];
    if (!maps.every(isObject)) return this.#fail(offset, '<< takes a map, or a list of maps, usually by alias');
    return Object.fromEntries(
      maps
        .filter(isObject)
        .reverse()
        .flatMap((one) => Object.entries(one)),
    );
  }

  #duplicate(map: YAMLMap, name: string, key: Node): never {
    const first = map.items.find((pair) => isScalar(pair.key) && keyOf(pair.key) === name);
    const before = isNode(first?.key) ? startOf(first.key) : 0;
    const lines = this.#text.slice(before, startOf(key)).split('\n').length - 1;
    return this.#fail(
      startOf(key),
      `the key ${JSON.stringify(name)} is already there ${lines === 0 ? 'on this line' : `${lines} line${lines === 1 ? '' : 's'} above`}`,
    );
  }
}

/** `<<`, written plain; in quotes it is a key like any other. */
export function isMergeKey(key: unknown): key is Scalar {
  return isScalar(key) && key.type === 'PLAIN' && key.source === '<<';
}

/** The name of a key. Kubernetes' decoder makes text of every scalar, so `yes: 1` has the key `true`. */
export function keyOf(key: Scalar): string {
  const json = readScalar(key);
  return json === null ? 'null' : String(json);
}

function readScalar(node: Scalar): Json {
  const text = node.source ?? String(node.value);
  if (node.tag !== undefined && node.tag !== 'tag:yaml.org,2002:str') return readTagged(node.tag, text);
  return node.type === 'PLAIN' && node.tag === undefined ? readPlain(text) : text;
}

function readTagged(tag: string, text: string): Json {
  const isKnown = /^tag:yaml\.org,2002:(int|float|bool|null)$/.test(tag);
  return isKnown ? readPlain(text) : text;
}
