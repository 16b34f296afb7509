import { isAlias, isMap, isSeq, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import { isArray, isObject, type Json } from '../json.js';
import { type Edit, isFirstOnLine, lineStart, nextLine } from './edits.js';
import { blockEntry, blockItem, type FlowStyle, flowEntry, flowValue, pad } from './emit.js';
import { flowStyleOf } from './flow.js';
import { afterColon, childOf, contentEnd, errorAtOffset, isEmptyNull, isNull, pairEnd, pairOf } from './locate.js';
import { isMergeKey, isNode, type Manifest, type Node, placeAt, startOf } from './parse.js';
import { columnOf, type Style } from './style.js';

/** Something to add, in the words of RFC 6902's `add`. */
export interface Insertion {
  readonly path: readonly string[];
  readonly value: Json;
}

/** What is to be done to one map, list or value of the document. */
type Plan =
  | { readonly do: 'extend map'; readonly node: YAMLMap; readonly entries: Map<string, Json> }
  | { readonly do: 'extend list'; readonly node: YAMLSeq; readonly key: Pair | undefined; readonly items: Slot[] }
  | { readonly do: 'extend alias'; readonly node: Node; readonly entries: Map<string, Json> }
  | { readonly do: 'fill'; readonly pair: Pair; readonly parent: YAMLMap; value: Json };

/** A place in a list that is being extended: an item of the document, or a new one. */
type Slot = { readonly old: Node | undefined } | { readonly fresh: Json };

/** The text edits that make additions to a document. They only insert; a null, or a value that changes, is replaced. */
export function insertionEdits(manifest: Manifest, insertions: readonly Insertion[], style: Style): readonly Edit[] {
  const planner = new Planner(manifest);
  for (const insertion of insertions) planner.add(insertion);
  return [...planner.plans.values()].flatMap((plan) => editsFor(manifest, plan, style));
}

/**
 * The text that must make way when something is added at a path, so that it can be put back one day; empty when adding
 * is enough.
 */
export function keptText({ root, text }: Manifest, path: readonly string[]): string {
  const parent = path.slice(0, -1).reduce<Node | undefined>((node, key) => node && childOf(node, key), root);
  const pair = parent && pairOf(parent, path.at(-1) ?? '');
  if (pair === undefined || isEmptyNull(pair.value) || isMap(pair.value) || isSeq(pair.value)) return '';
  return text.slice(afterColon(text, pair), isNode(pair.value) ? pair.value.range?.[1] : undefined);
}

/** Follows the insertions one by one, as a patch is applied, and gathers them by the node that each belongs to. */
class Planner {
  readonly #manifest: Manifest;
  readonly plans = new Map<string, Plan>();

  constructor(manifest: Manifest) {
    this.#manifest = manifest;
  }

  add({ path, value }: Insertion): void {
    const last = path.at(-1) ?? '';
    const holder = this.#holder(path.slice(0, -1));
    if ('fresh' in holder) put(holder.fresh, last, value);
    else if (isSeq(holder.node)) this.#addItem(holder, last, value);
    else this.#addEntry(holder, last, value);
  }

  /** The node at a path, or the new value there if the path leads into something that is being added. */
  #holder(
    path: readonly string[],
  ):
    | { readonly node: Node; readonly path: readonly string[]; readonly key: Pair | undefined }
    | { readonly fresh: Json } {
    const { root } = this.#manifest;
    if (root === undefined) throw errorAtOffset(this.#manifest, 0, 'the document is empty');
    let node = root;
    let key: Pair | undefined;
    for (const [index, part] of path.entries()) {
      this.#mayChange(node);
      const fresh =
        freshAt(this.plans.get(path.slice(0, index).join('\0')), part) ??
        freshAt(this.plans.get(path.slice(0, index + 1).join('\0')), undefined);
      if (fresh !== undefined)
        return { fresh: path.slice(index + 1).reduce<Json>((value, next) => stepInto(value, next), fresh) };
      const child = childOf(node, part);
      if (child === undefined) throw this.#merged(node, part);
      key = pairOf(node, part);
      if (isAlias(child) && index < path.length - 1) throw this.#shared(child, child.source);
      node = child;
    }
    this.#mayChange(node);
    return { node, path, key };
  }

  #addEntry({ node, path }: { readonly node: Node; readonly path: readonly string[] }, key: string, value: Json): void {
    const pair = pairOf(node, key);
    if (pair !== undefined && isMap(node)) {
      if (isNode(pair.value)) this.#mayChange(pair.value);
      this.plans.set([...path, key].join('\0'), { do: 'fill', pair, parent: node, value: copyOf(value) });
      return;
    }
    const id = path.join('\0');
    const plan = this.plans.get(id) ?? this.#mapPlan(node);
    this.plans.set(id, plan);
    if (plan.do === 'extend map' || plan.do === 'extend alias') plan.entries.set(key, copyOf(value));
  }

  #mapPlan(node: Node): Plan {
    if (isMap(node)) return { do: 'extend map', node, entries: new Map() };
    if (!isAlias(node)) throw errorAtOffset(this.#manifest, startOf(node), 'expected a map here');
    if (!isMap(this.#manifest.anchors.nodes.get(node.source))) throw this.#shared(node, node.source);
    return { do: 'extend alias', node, entries: new Map() };
  }

  #addItem(
    { node, path, key }: { readonly node: Node; readonly path: readonly string[]; readonly key: Pair | undefined },
    index: string,
    value: Json,
  ): void {
    if (!isSeq(node)) return;
    const id = path.join('\0');
    const old = () => node.items.map((item): Slot => ({ old: isNode(item) ? item : undefined }));
    const plan = this.plans.get(id) ?? { do: 'extend list', node, key, items: old() };
    this.plans.set(id, plan);
    if (plan.do === 'extend list')
      plan.items.splice(index === '-' ? plan.items.length : Number(index), 0, { fresh: copyOf(value) });
  }

  /** An anchored node that is used elsewhere cannot be added to: whatever refers to it would change as well. */
  #mayChange(node: Node): void {
    const [use] =
      (!isAlias(node) && node.anchor !== undefined && this.#manifest.anchors.aliases.get(node.anchor)) || [];
    if (use !== undefined) throw this.#shared(use, use.source, node);
  }

  #shared(use: Node, name: string, at: Node = use): Error {
    const anchored = this.#manifest.anchors.nodes.get(name);
    const anchorLine = anchored === undefined ? 0 : placeAt(this.#manifest, startOf(anchored)).line;
    const useLine = placeAt(this.#manifest, startOf(use)).line;
    return errorAtOffset(
      this.#manifest,
      startOf(at),
      `cannot add to what &${name} (line ${anchorLine}) and *${name} (line ${useLine}) share: write one of them out`,
    );
  }

  #merged(node: Node, key: string): Error {
    const merge = isMap(node) ? node.items.find((pair) => isMergeKey(pair.key)) : undefined;
    const offset = isNode(merge?.key) ? startOf(merge.key) : startOf(node);
    const alias = merge?.value;
    const source = isAlias(alias)
      ? ` from &${alias.source} (line ${placeAt(this.#manifest, this.#anchorOffset(alias.source)).line})`
      : '';
    const { line } = placeAt(this.#manifest, offset);
    return errorAtOffset(
      this.#manifest,
      offset,
      `cannot add to ${JSON.stringify(key)}, which only the merge on line ${line} supplies${source}: write it out`,
    );
  }

  #anchorOffset(name: string): number {
    const node = this.#manifest.anchors.nodes.get(name);
    return node === undefined ? 0 : startOf(node);
  }
}

/** Lists and maps on the way are copied, because more is put into them; what they hold is not, so that its text can be kept. */
function copyOf(value: Json): Json {
  if (isArray(value) && value.length === 0) return [];
  return isObject(value) && Object.keys(value).length === 0 ? {} : value;
}

function freshAt(plan: Plan | undefined, key: string | undefined): Json | undefined {
  if (plan === undefined) return undefined;
  if (key === undefined) return plan.do === 'fill' ? plan.value : undefined;
  return plan.do === 'extend map' || plan.do === 'extend alias' ? plan.entries.get(key) : undefined;
}

function stepInto(value: Json, key: string): Json {
  if (isArray(value)) return value[Number(key)] ?? null;
  return isObject(value) ? (value[key] ?? null) : null;
}

function put(holder: Json, key: string, value: Json): void {
  if (isArray(holder)) Array.prototype.splice.call(holder, key === '-' ? holder.length : Number(key), 0, copyOf(value));
  else if (isObject(holder))
    Object.defineProperty(holder, key, { value: copyOf(value), enumerable: true, configurable: true, writable: true });
}

function editsFor(manifest: Manifest, plan: Plan, style: Style): readonly Edit[] {
  const { text } = manifest;
  switch (plan.do) {
    case 'extend map':
      return [
        plan.node.flow
          ? flowMapEdit(text, plan.node, plan.entries, style)
          : blockMapEdit(text, plan.node, plan.entries, style),
      ];
    case 'extend list':
      return plan.node.flow ? flowListEdits(text, plan.node, plan.items, style) : blockListEdits(text, plan, style);
    case 'extend alias':
      return aliasEdits(plan.node, plan.entries, style);
    case 'fill':
      return fillEdits(text, plan, style);
  }
}

/** Lines that go below a line; at the end of a text without a last line end, they bring one instead of leaving one. */
function linesAt(text: string, at: number, lines: string, depth: number, eol: string): Edit {
  const atOpenEnd = at === text.length && at > 0 && text[at - 1] !== '\n';
  return { at, remove: 0, insert: atOpenEnd ? eol + lines.slice(0, -eol.length) : lines, depth };
}

/** The start of the line after a content; a block scalar ends there already. */
function below(text: string, end: number): number {
  return end > 0 && text[end - 1] === '\n' ? end : nextLine(text, end);
}

function blockMapEdit(text: string, node: YAMLMap, entries: ReadonlyMap<string, Json>, style: Style): Edit {
  const column = columnOf(text, startOf(node));
  const lines = [...entries].map(([key, value]) => blockEntry(key, value, column, style)).join('');
  return linesAt(text, below(text, contentEnd(node)), lines, column * 2, style.eol);
}

function blockListEdits(
  text: string,
  { node, key, items }: Plan & { readonly do: 'extend list' },
  style: Style,
): readonly Edit[] {
  const first = startOf(node);
  const column = columnOf(text, first);
  const firstOld = items.findIndex((slot) => 'old' in slot);
  const lines = (slots: readonly Slot[]) =>
    slots.map((slot) => ('fresh' in slot ? blockItem(slot.fresh, column, style) : '')).join('');
  const edits: Edit[] = [];
  if (firstOld > 0) edits.push(prependEdit(text, first, key, lines(items.slice(0, firstOld)), column));
  if ('fresh' in (items.at(-1) ?? {}))
    edits.push(linesAt(text, below(text, contentEnd(node)), lines(items.slice(firstOld)), column * 2 + 1, style.eol));
  return edits;
}

/** New first items go right below the key, so that a comment above the old first item stays with it. */
function prependEdit(text: string, dash: number, key: Pair | undefined, lines: string, column: number): Edit {
  const header = key === undefined ? -1 : nextLine(text, afterColon(text, key));
  const at = header >= 0 && header <= dash ? header : isFirstOnLine(text, dash) ? lineStart(text, dash) : dash;
  if (at === dash && !isFirstOnLine(text, dash))
    return { at, remove: 0, insert: lines.slice(column) + pad(column), depth: column * 2 + 1 };
  return { at, remove: 0, insert: lines, depth: column * 2 + 1 };
}

function flowMapEdit(text: string, node: YAMLMap, entries: ReadonlyMap<string, Json>, style: Style): Edit {
  const flow = flowStyleOf(text, node, style);
  const texts = [...entries].map(([key, value]) => flowEntry(key, value, flow.indent, flow));
  const last = node.items.at(-1);
  return last === undefined ? intoEmpty(text, node, texts, flow) : after(pairEnd(last), texts, flow);
}

function flowListEdits(text: string, node: YAMLSeq, items: readonly Slot[], style: Style): readonly Edit[] {
  const flow = flowStyleOf(text, node, style);
  const write = (slots: readonly Slot[]) =>
    slots.flatMap((slot) => ('fresh' in slot ? [flowValue(slot.fresh, flow.indent, flow)] : []));
  const firstOld = items.findIndex((slot) => 'old' in slot);
  if (firstOld < 0) return [intoEmpty(text, node, write(items), flow)];
  const head = write(items.slice(0, firstOld));
  const tail = write(items.slice(firstOld));
  const [first, last] = [node.items[0], node.items.at(-1)];
  const edits: Edit[] = [];
  if (head.length > 0 && isNode(first))
    edits.push({ at: startOf(first), remove: 0, insert: head.map((one) => one + separator(flow)).join(''), depth: 0 });
  if (tail.length > 0 && isNode(last)) edits.push(after(last.range?.[1] ?? 0, tail, flow));
  return edits;
}

type Flow = FlowStyle & { readonly indent: number };

function separator(flow: Flow): string {
  return flow.step === undefined ? `,${flow.blank}` : `,${flow.eol}${pad(flow.indent)}`;
}

function after(at: number, texts: readonly string[], flow: Flow): Edit {
  return { at, remove: 0, insert: texts.map((one) => separator(flow) + one).join(''), depth: 0 };
}

function intoEmpty(text: string, node: Node, texts: readonly string[], flow: Flow): Edit {
  const at = startOf(node) + 1;
  const closing = text.slice(at, node.range?.[1]);
  if (flow.step === undefined || closing.includes('\n'))
    return { at, remove: 0, insert: texts.join(`,${flow.blank}`), depth: 0 };
  const insert = `${flow.eol}${pad(flow.indent)}${texts.join(separator(flow))}${flow.eol}${pad(flow.indent - flow.step)}`;
  return { at, remove: 0, insert, depth: 0 };
}

/** A map that is given by alias becomes a map that merges the alias and has the new entries beside it. */
function aliasEdits(node: Node, entries: ReadonlyMap<string, Json>, style: Style): readonly Edit[] {
  const flow = { eol: style.eol, step: undefined, blank: ' ' } as const;
  const added = [...entries].map(([key, value]) => `, ${flowEntry(key, value, 0, flow)}`).join('');
  return [
    { at: startOf(node), remove: 0, insert: '{<<: ', depth: 0 },
    // An alias ends at a blank, and a comma could be part of its name.
    { at: node.range?.[1] ?? 0, remove: 0, insert: ` ${added}}`, depth: 0 },
  ];
}

/** Puts a value where a null or another value stands. */
function fillEdits(
  text: string,
  { pair, parent, value }: Plan & { readonly do: 'fill' },
  style: Style,
): readonly Edit[] {
  const colon = afterColon(text, pair);
  const end = isNode(pair.value) ? (pair.value.range?.[1] ?? colon) : colon;
  const replaced = isEmptyNull(pair.value) ? { at: colon, remove: 0 } : { at: colon, remove: end - colon };
  if (parent.flow) {
    const flow = flowStyleOf(text, parent, style);
    return [{ ...replaced, insert: ` ${flowValue(value, flow.indent, flow)}`, depth: 0 }];
  }
  const isCollection = isArray(value) || isObject(value);
  const column = columnOf(text, isNode(pair.key) ? startOf(pair.key) : 0);
  const entry = blockEntry('x', value, column, style).slice(column + 2);
  if (!isCollection || !isNull(pair.value) || !entry.startsWith(style.eol)) {
    return [{ ...replaced, insert: entry.slice(0, -style.eol.length), depth: 0 }];
  }
  const children = linesAt(text, nextLine(text, end), entry.slice(style.eol.length), column * 2 + 1, style.eol);
  return replaced.remove === 0 ? [children] : [{ ...replaced, insert: '', depth: 0 }, children];
}
