import { isAlias, isMap, isScalar, isSeq, type YAMLMap, type YAMLSeq } from 'yaml';
import { type Edit, isFirstOnLine, lineStart, nextLine } from './edits.js';
import { afterColon, childOf, contentEnd, errorAtOffset, isEmptyNull, pairEnd, pairOf } from './locate.js';
import { isNode, keyOf, type Manifest, type Node, placeAt, startOf } from './parse.js';
import { columnOf } from './style.js';

/** What is to be taken out of a document, and which texts are to be put back. */
export interface Removal {
  readonly removals: readonly (readonly string[])[];
  readonly restored: readonly { readonly path: readonly string[]; readonly text: string }[];
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** The text edits that undo an injection: the exact reverse of the insertion, where it was ours. */
export function removalEdits(manifest: Manifest, { removals, restored }: Removal): readonly Edit[] {
  const back = restored.flatMap(({ path, text }) => restoreEdits(manifest, path, text));
  const covered = back.filter(({ remove }) => remove > 0).map(({ at, remove }) => ({ from: at, to: at + remove }));
  const byHolder = new Map<string, { readonly path: readonly string[]; readonly keys: Set<string> }>();
  for (const path of removals) {
    const holder = path.slice(0, -1);
    const known = byHolder.get(holder.join('\0')) ?? { path: holder, keys: new Set<string>() };
    known.keys.add(path.at(-1) ?? '');
    byHolder.set(holder.join('\0'), known);
  }
  const ranges = [...byHolder.values()].flatMap(({ path, keys }) => rangesIn(manifest, path, keys));
  const free = merged(ranges).filter((range) => !covered.some((one) => range.from >= one.from && range.to <= one.to));
  for (const range of free) mayGo(manifest, range);
  const cuts = free.map((range) => cut(manifest.text, range));
  return [
    ...cuts,
    ...back.filter((edit) => !free.some(({ from, to }) => edit.at > from && edit.at + edit.remove <= to)),
  ];
}

function nodeAt({ root }: Manifest, path: readonly string[]): Node | undefined {
  return path.reduce<Node | undefined>((node, key) => node && childOf(node, key), root);
}

function rangesIn(manifest: Manifest, path: readonly string[], keys: ReadonlySet<string>): readonly Range[] {
  const holder = nodeAt(manifest, path);
  if (isMap(holder)) return mapRanges(manifest, holder, keys);
  return isSeq(holder) ? listRanges(manifest, holder, keys) : [];
}

function mapRanges({ text }: Manifest, map: YAMLMap, keys: ReadonlySet<string>): readonly Range[] {
  const goes = map.items.map(({ key }) => isScalar(key) && keys.has(keyOf(key)));
  const starts = map.items.map(({ key }) => (isNode(key) ? startOf(key) : 0));
  const ends = map.items.map((pair) => pairEnd(pair));
  if (map.flow) return flowRanges(text, map, goes, starts, ends);
  return map.items.flatMap((_pair, index) => (goes[index] ? [blockRange(text, starts, ends, index)] : []));
}

function listRanges({ text }: Manifest, list: YAMLSeq, keys: ReadonlySet<string>): readonly Range[] {
  const goes = list.items.map((_item, index) => keys.has(String(index)));
  const nodes = list.items.map((item) => (isNode(item) ? item : undefined));
  const ends = nodes.map((node) => (node === undefined ? 0 : contentEnd(node)));
  if (list.flow)
    return flowRanges(
      text,
      list,
      goes,
      nodes.map((node) => (node === undefined ? 0 : startOf(node))),
      nodes.map((node) => node?.range?.[1] ?? 0),
    );
  const column = columnOf(text, startOf(list));
  const starts = nodes.map((node, index) =>
    index === 0 ? startOf(list) : dashBefore(text, node === undefined ? 0 : startOf(node), column),
  );
  return nodes.flatMap((_node, index) => (goes[index] ? [blockRange(text, starts, ends, index)] : []));
}

/** Walks up the lines from an item to the dash that it belongs to. */
function dashBefore(text: string, offset: number, column: number): number {
  for (let start = lineStart(text, offset); ; start = lineStart(text, start - 1)) {
    if (text[start + column] === '-' && start + column <= offset && isFirstOnLine(text, start + column))
      return start + column;
    if (start === 0) return offset;
  }
}

/** Whole lines, unless something that stays stands before on the first of them (`- key:`). */
function blockRange(text: string, starts: readonly number[], ends: readonly number[], index: number): Range {
  const start = starts[index] ?? 0;
  const end = ends[index] ?? start;
  const to = end > 0 && text[end - 1] === '\n' ? end : nextLine(text, end);
  if (isFirstOnLine(text, start)) return { from: lineStart(text, start), to };
  return { from: start, to: starts[index + 1] ?? end };
}

/** Items between commas: each goes with the comma before it, at the head with the one after it. */
function flowRanges(
  text: string,
  node: YAMLMap | YAMLSeq,
  goes: readonly boolean[],
  starts: readonly number[],
  ends: readonly number[],
): readonly Range[] {
  const stays = goes.indexOf(false);
  const last = goes.length - 1;
  if (stays < 0) return [emptied(text, node, starts[0] ?? 0, ends[last] ?? 0)];
  return goes.flatMap((going, index) => {
    if (!going) return [];
    if (index < stays) return [{ from: starts[index] ?? 0, to: starts[index + 1] ?? 0 }];
    return [{ from: ends[index - 1] ?? 0, to: ends[index] ?? 0 }];
  });
}

/** Of a collection over several lines that was empty before, the lines go as well. */
function emptied(text: string, node: YAMLMap | YAMLSeq, start: number, end: number): Range {
  const open = startOf(node) + 1;
  const spread = /^\r?\n\s*$/.test(text.slice(open, start));
  const close = (node.range?.[1] ?? end) - 1;
  return spread && /^\r?\n\s*$/.test(text.slice(end, close)) ? { from: open, to: close } : { from: start, to: end };
}

function merged(ranges: readonly Range[]): readonly Range[] {
  const result: Range[] = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const before = result.at(-1);
    if (before !== undefined && range.from <= before.to)
      result[result.length - 1] = { from: before.from, to: Math.max(before.to, range.to) };
    else result.push(range);
  }
  return result;
}

/** At the end of a text that has no last line end, the line end before goes instead. */
function cut(text: string, { from, to }: Range): Edit {
  const openEnd = to === text.length && text[to - 1] !== '\n' && from > 0 && text[from - 1] === '\n';
  const start = openEnd ? from - (text[from - 2] === '\r' ? 2 : 1) : from;
  return { at: start, remove: to - start, insert: '', depth: 0 };
}

/** Something with an anchor cannot go while something that stays refers to it. */
function mayGo(manifest: Manifest, { from, to }: Range): void {
  for (const [name, anchored] of manifest.anchors.nodes) {
    const offset = startOf(anchored);
    if (offset < from || offset >= to) continue;
    const use = manifest.anchors.aliases.get(name)?.find((alias) => startOf(alias) < from || startOf(alias) >= to);
    if (use === undefined) continue;
    const lines = [offset, startOf(use)].map((one) => placeAt(manifest, one).line);
    throw errorAtOffset(
      manifest,
      offset,
      `cannot take out &${name} (line ${lines[0]}): line ${lines[1]} refers to it by *${name}`,
    );
  }
}

/** Puts a text back behind the colon where it stood, and takes out what stands there now. */
function restoreEdits(manifest: Manifest, path: readonly string[], old: string): readonly Edit[] {
  const { text } = manifest;
  const parent = nodeAt(manifest, path.slice(0, -1));
  const pair = parent && pairOf(parent, path.at(-1) ?? '');
  if (pair === undefined) return [];
  const colon = afterColon(text, pair);
  const { value } = pair;
  if (!isNode(value) || isEmptyNull(value)) return [{ at: colon, remove: 0, insert: old, depth: 0 }];
  if (isAlias(value) || isScalar(value) || value.flow)
    return [{ at: colon, remove: (value.range?.[1] ?? colon) - colon, insert: old, depth: 0 }];
  const end = contentEnd(value);
  const from = nextLine(text, colon);
  const to = text[end - 1] === '\n' ? end : nextLine(text, end);
  const lines = cut(text, { from, to });
  return [{ at: colon, remove: 0, insert: old, depth: 0 }, lines];
}
