import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import type { AliasNode, MapNode, Node, ScalarNode } from './node.js';
import { readPlain } from './scalar.js';

/** Anchored nodes by name, and the aliases that refer to each. */
export interface Anchors {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly aliases: ReadonlyMap<string, readonly AliasNode[]>;
}

/** More values than any manifest has once its aliases are followed; a small file can ask for billions. */
const largestExpansion = 200_000;

type Fail = (offset: number, message: string) => never;

/** Turns nodes into JSON, following aliases and merges; checks what the parser was told to let pass. */
export class Reader {
  readonly #text: string;
  readonly #fail: Fail;
  readonly #nodes = new Map<string, Node>();
  readonly #aliases = new Map<string, AliasNode[]>();
  readonly #values = new Map<string, { readonly json: Json; readonly size: number }>();
  readonly #open = new Set<string>();
  #size = 0;

  constructor(text: string, fail: Fail) {
    this.#text = text;
    this.#fail = fail;
  }

  get anchors(): Anchors {
    return { nodes: this.#nodes, aliases: this.#aliases };
  }

  read(node: Node): Json {
    if (node.kind === 'alias') return this.#readAlias(node);
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

  #readValue(node: Exclude<Node, AliasNode>): Json {
    this.#size++;
    if (node.kind === 'scalar') return readScalar(node);
    return node.kind === 'map' ? this.#readMap(node) : node.items.map((item) => this.read(item));
  }

  #readAlias(alias: AliasNode): Json {
    const { name, start } = alias;
    const uses = this.#aliases.get(name);
    if (uses === undefined) this.#aliases.set(name, [alias]);
    else uses.push(alias);
    const known = this.#values.get(name);
    if (this.#open.has(name)) return this.#fail(start, `the alias *${name} stands inside of what it refers to`);
    if (known === undefined) return this.#fail(start, `there is no anchor &${name} before this alias`);
    this.#size += known.size;
    if (this.#size <= largestExpansion) return known.json;
    return this.#fail(
      start,
      `the document is too large once its aliases are followed (more than ${largestExpansion} values)`,
    );
  }

  #readMap(map: MapNode): JsonObject {
    const own: Record<string, Json> = {};
    const merges: JsonObject[] = [];
    for (const { key, value } of map.pairs) {
      if (isMergeKey(key)) {
        merges.push(...this.#readMerge(value, key.start));
        continue;
      }
      const name = key.kind === 'scalar' ? keyOf(key) : this.#oddKey(key);
      if (Object.hasOwn(own, name)) this.#duplicate(map, name, key);
      const json = value === undefined ? null : this.read(value);
      // A plain assignment to this one key would set the prototype.
      if (name === '__proto__')
        Object.defineProperty(own, name, { value: json, enumerable: true, configurable: true, writable: true });
      else own[name] = json;
    }
    // The first that has a key wins, and what stands in the map itself wins over all.
    return merges.length === 0 ? own : Object.fromEntries([...merges.reverse(), own].flatMap(Object.entries));
  }

  #oddKey(key: Node): string {
    const json = this.read(key);
    return isObject(json) || isArray(json)
      ? this.#fail(key.start, 'a key must be text; in a Helm template, let `helm template` make a manifest of it first')
      : String(json);
  }

  #readMerge(value: Node | undefined, offset: number): readonly JsonObject[] {
    const json = value === undefined ? null : this.read(value);
    const maps = isArray(json) ? json : [json];
    if (!maps.every(isObject)) return this.#fail(offset, '<< takes a map, or a list of maps, usually by alias');
    return maps.filter(isObject);
  }

  #duplicate(map: MapNode, name: string, key: Node): never {
    const first = map.pairs.find((pair) => pair.key.kind === 'scalar' && keyOf(pair.key) === name);
    const lines = this.#text.slice(first?.key.start ?? 0, key.start).split('\n').length - 1;
    const where = lines === 0 ? 'on this line' : `${lines} line${lines === 1 ? '' : 's'} above`;
    return this.#fail(key.start, `the key ${JSON.stringify(name)} is already there ${where}`);
  }
}

/** `<<`, written plain; in quotes it is a key like any other. */
export function isMergeKey(key: Node): boolean {
  return key.kind === 'scalar' && key.plain && key.source === '<<';
}

/** The name of a key. Kubernetes' decoder makes text of every scalar, so `yes: 1` has the key `true`. */
export function keyOf(key: ScalarNode): string {
  return String(readScalar(key));
}

function readScalar({ source, plain, tag }: ScalarNode): Json {
  if (tag === undefined) return plain ? readPlain(source) : source;
  return /^tag:yaml\.org,2002:(int|float|bool|null)$/.test(tag) ? readPlain(source) : source;
}
