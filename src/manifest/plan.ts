import { isArray, isObject, type Json } from '../json.js';
import { childOf, errorAtOffset, pairOf } from './locate.js';
import type { AliasNode, ListNode, MapNode, Node, Pair } from './node.js';
import { type Manifest, placeAt } from './parse.js';
import { isMergeKey } from './read.js';

/** Something to add, in the words of RFC 6902's `add`. */
export interface Insertion {
  readonly path: readonly string[];
  readonly value: Json;
}

/** What is to be done to one map, list or value of the document. */
export type Plan =
  | { readonly do: 'extend map'; readonly node: MapNode; readonly entries: Map<string, Json> }
  | { readonly do: 'extend alias'; readonly node: AliasNode; readonly entries: Map<string, Json> }
  | ListPlan
  | FillPlan;

export interface ListPlan {
  readonly do: 'extend list';
  readonly node: ListNode;
  /** The pair whose value the list is, if it is one. */
  readonly pair: Pair | undefined;
  readonly items: Slot[];
}

/** A value put where a null or another value stands. */
export interface FillPlan {
  readonly do: 'fill';
  readonly pair: Pair;
  readonly parent: MapNode;
  readonly value: Json;
}

/** A place in a list that is being extended: an item of the document, or a new one. */
export type Slot = { readonly old: Node } | { readonly fresh: Json };

/** Where something is added: a node of the document, or a value that is itself being added. */
type Holder = Place | { readonly fresh: Json };

interface Place {
  readonly node: Node;
  readonly id: string;
  readonly pair: Pair | undefined;
}

const idOf = (path: readonly string[]) => path.join('\0');

/**
 * Follows insertions one by one, as a patch is applied, and gathers them by the node that each belongs to. Refuses what
 * would change more than it says: nodes that are shared by anchor and alias, keys that only a merge supplies.
 */
export class Planner {
  readonly #manifest: Manifest;
  readonly #holders = new Map<string, Holder>();
  readonly plans = new Map<string, Plan>();

  constructor(manifest: Manifest) {
    this.#manifest = manifest;
  }

  add({ path, value }: Insertion): void {
    const key = path.at(-1) ?? '';
    const holder = this.#holder(path.slice(0, -1));
    if ('fresh' in holder) put(holder.fresh, key, value);
    else if (holder.node.kind === 'list') this.#addItem(holder, holder.node, key, value);
    else this.#addEntry(holder, key, value);
  }

  /** Most additions go to a few places, so the way to each is looked for once. */
  #holder(path: readonly string[]): Holder {
    const id = idOf(path);
    const known = this.#holders.get(id) ?? this.#find(path, id);
    this.#holders.set(id, known);
    return known;
  }

  #find(path: readonly string[], id: string): Holder {
    const { root } = this.#manifest;
    if (root === undefined) throw errorAtOffset(this.#manifest, 0, 'the document is empty');
    let node = root;
    let pair: Pair | undefined;
    for (const [index, key] of path.entries()) {
      this.#mayChange(node);
      const fresh = this.#freshAt(path, index);
      if (fresh !== undefined) return { fresh: path.slice(index + 1).reduce(stepInto, fresh) };
      pair = pairOf(node, key);
      const child = childOf(node, key);
      if (child === undefined) throw this.#merged(node, key);
      if (child.kind === 'alias' && index < path.length - 1) throw this.#shared(child);
      node = child;
    }
    this.#mayChange(node);
    return { node, id, pair };
  }

  /** What is being added at the part of a path that an index ends: a new entry, or a value in the place of a null. */
  #freshAt(path: readonly string[], index: number): Json | undefined {
    if (this.plans.size === 0) return undefined;
    const parent = this.plans.get(idOf(path.slice(0, index)));
    const entry = parent !== undefined && 'entries' in parent ? parent.entries.get(path[index] ?? '') : undefined;
    if (entry !== undefined) return entry;
    const here = this.plans.get(idOf(path.slice(0, index + 1)));
    return here?.do === 'fill' ? here.value : undefined;
  }

  #addEntry({ node, id }: Place, key: string, value: Json): void {
    const pair = pairOf(node, key);
    if (pair !== undefined && node.kind === 'map') {
      if (pair.value !== undefined) this.#mayChange(pair.value);
      this.plans.set(id === '' ? key : `${id}\0${key}`, { do: 'fill', pair, parent: node, value: ownCopy(value) });
      return;
    }
    const plan = this.plans.get(id) ?? this.#entriesPlan(node);
    this.plans.set(id, plan);
    if ('entries' in plan) plan.entries.set(key, ownCopy(value));
  }

  #entriesPlan(node: Node): Plan {
    if (node.kind === 'map') return { do: 'extend map', node, entries: new Map() };
    if (node.kind !== 'alias') throw errorAtOffset(this.#manifest, node.start, 'expected a map here');
    if (this.#manifest.anchors.nodes.get(node.name)?.kind !== 'map') throw this.#shared(node);
    return { do: 'extend alias', node, entries: new Map() };
  }

  #addItem({ id, pair }: Place, node: ListNode, index: string, value: Json): void {
    const plan = this.plans.get(id) ?? { do: 'extend list', node, pair, items: node.items.map((old) => ({ old })) };
    this.plans.set(id, plan);
    if (plan.do !== 'extend list') return;
    plan.items.splice(index === '-' ? plan.items.length : Number(index), 0, { fresh: ownCopy(value) });
  }

  /** An anchored node that is used elsewhere cannot be added to: whatever refers to it would change as well. */
  #mayChange({ anchor, start }: Node): void {
    const use = anchor === undefined ? undefined : this.#manifest.anchors.aliases.get(anchor)?.[0];
    if (use !== undefined) throw this.#shared(use, start);
  }

  #shared({ name, start }: AliasNode, at = start): Error {
    const message = `cannot add to what &${name} (line ${this.#anchorLine(name)}) and *${name} (line ${this.#line(start)}) share: write one of them out`;
    return errorAtOffset(this.#manifest, at, message);
  }

  #merged(node: Node, key: string): Error {
    const merge = node.kind === 'map' ? node.pairs.find((pair) => isMergeKey(pair.key)) : undefined;
    const offset = merge?.key.start ?? node.start;
    const source =
      merge?.value?.kind === 'alias' ? ` from &${merge.value.name} (line ${this.#anchorLine(merge.value.name)})` : '';
    const message = `cannot add to ${JSON.stringify(key)}, which only the merge on line ${this.#line(offset)} supplies${source}: write it out`;
    return errorAtOffset(this.#manifest, offset, message);
  }

  #anchorLine(name: string): number {
    return this.#line(this.#manifest.anchors.nodes.get(name)?.start ?? 0);
  }

  #line(offset: number): number {
    return placeAt(this.#manifest, offset).line;
  }
}

/** An empty map or list gets more put into it, so it must be our own; anything else is left as it is, so that its text can be kept. */
function ownCopy(value: Json): Json {
  if (isArray(value)) return value.length === 0 ? [] : value;
  return isObject(value) && Object.keys(value).length === 0 ? {} : value;
}

function stepInto(value: Json, key: string): Json {
  if (isArray(value)) return value[Number(key)] ?? null;
  return isObject(value) ? (value[key] ?? null) : null;
}

/** Puts a value into a map or list of our own. */
function put(holder: Json, key: string, value: Json): void {
  if (Array.isArray(holder)) holder.splice(key === '-' ? holder.length : Number(key), 0, ownCopy(value));
  else if (isObject(holder))
    Object.defineProperty(holder, key, { value: ownCopy(value), enumerable: true, configurable: true, writable: true });
}
