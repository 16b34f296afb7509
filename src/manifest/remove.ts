import { type Edit, isFirstOnLine, lineStart, nextLine } from './edits.js';
import { afterColon, contentEnd, errorAtOffset, isEmptyNull, nodeAt, pairEnd, pairOf } from './locate.js';
import type { ListNode, MapNode } from './node.js';
import { type Manifest, placeAt } from './parse.js';
import { keyOf } from './read.js';
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
  const isInside = (inner: Range, outer: Range) => inner.from >= outer.from && inner.to <= outer.to;
  const rangeOf = ({ at, remove }: Edit) => ({ from: at, to: at + remove });
  const ranges = merged(byHolder(removals).flatMap(({ path, keys }) => rangesIn(manifest, path, keys)));
  const free = ranges.filter((range) => !back.some((edit) => edit.remove > 0 && isInside(range, rangeOf(edit))));
  for (const range of free) mayGo(manifest, range);
  const outside = back.filter((edit) => !free.some((range) => edit.at > range.from && isInside(rangeOf(edit), range)));
  return [...free.map((range) => cut(manifest.text, range)), ...outside];
}

function byHolder(
  removals: Removal['removals'],
): readonly { readonly path: readonly string[]; readonly keys: ReadonlySet<string> }[] {
  const holders = new Map<string, { readonly path: readonly string[]; readonly keys: Set<string> }>();
  for (const full of removals) {
    const path = full.slice(0, -1);
    const holder = holders.get(path.join('\0')) ?? { path, keys: new Set() };
    holder.keys.add(full.at(-1) ?? '');
    holders.set(path.join('\0'), holder);
  }
  return [...holders.values()];
}

function rangesIn({ root, text }: Manifest, path: readonly string[], keys: ReadonlySet<string>): readonly Range[] {
  const holder = nodeAt(root, path);
  if (holder?.kind === 'map') return mapRanges(text, holder, keys);
  return holder?.kind === 'list' ? listRanges(text, holder, keys) : [];
}

function mapRanges(text: string, map: MapNode, keys: ReadonlySet<string>): readonly Range[] {
  const goes = map.pairs.map(({ key }) => key.kind === 'scalar' && keys.has(keyOf(key)));
  const starts = map.pairs.map(({ key }) => key.start);
  const ends = map.pairs.map(pairEnd);
  if (map.flow) return flowRanges(text, map, goes, starts, ends);
  return map.pairs.flatMap((_pair, index) => (goes[index] ? [blockRange(text, starts, ends, index)] : []));
}

function listRanges(text: string, list: ListNode, keys: ReadonlySet<string>): readonly Range[] {
  const goes = list.items.map((_item, index) => keys.has(String(index)));
  const itemStarts = list.items.map(({ start }) => start);
  if (list.flow)
    return flowRanges(
      text,
      list,
      goes,
      itemStarts,
      list.items.map(({ end }) => end),
    );
  const ends = list.items.map(contentEnd);
  const column = columnOf(text, list.start);
  const dashes = itemStarts.map((start, index) => (index === 0 ? list.start : dashBefore(text, start, column)));
  return list.items.flatMap((_item, index) => (goes[index] ? [blockRange(text, dashes, ends, index)] : []));
}

/** Walks up the lines from an item to the dash that it belongs to. */
function dashBefore(text: string, offset: number, column: number): number {
  for (let start = lineStart(text, offset); ; start = lineStart(text, start - 1)) {
    const dash = start + column;
    if (text[dash] === '-' && dash <= offset && isFirstOnLine(text, dash)) return dash;
    if (start === 0) return offset;
  }
}

/** Whole lines, unless something that stays stands before on the first of them (`- key:`). */
function blockRange(text: string, starts: readonly number[], ends: readonly number[], index: number): Range {
  const start = starts[index] ?? 0;
  const end = ends[index] ?? start;
  const isExplicit = /^\s*\?\s+$/.test(text.slice(lineStart(text, start), start));
  if (!isExplicit && !isFirstOnLine(text, start)) return { from: start, to: starts[index + 1] ?? end };
  return { from: lineStart(text, start), to: text[end - 1] === '\n' ? end : nextLine(text, end) };
}

/** Items between commas: each goes with the comma before it, at the head with the one after it. */
function flowRanges(
  text: string,
  node: MapNode | ListNode,
  goes: readonly boolean[],
  starts: readonly number[],
  ends: readonly number[],
): readonly Range[] {
  const firstToStay = goes.indexOf(false);
  if (firstToStay < 0) return [emptied(text, node, starts[0] ?? 0, ends.at(-1) ?? 0)];
  return goes.flatMap((going, index) => {
    if (!going) return [];
    if (index < firstToStay) return [{ from: starts[index] ?? 0, to: starts[index + 1] ?? 0 }];
    return [{ from: ends[index - 1] ?? 0, to: ends[index] ?? 0 }];
  });
}

/** Of a collection over several lines that was empty before, the lines go as well. */
function emptied(text: string, node: MapNode | ListNode, start: number, end: number): Range {
  const [open, close] = [node.start + 1, node.end - 1];
  const isSpread = /^\r?\n\s*$/.test(text.slice(open, start)) && /^\r?\n\s*$/.test(text.slice(end, close));
  if (!isSpread) return { from: start, to: end };
  // The line end and the indentation of the closing line were ours; blanks that stood between the brackets were not.
  const lead = /^ */.exec(text.slice(lineStart(text, node.start)))?.[0].length ?? 0;
  return { from: open, to: Math.min(close, nextLine(text, end) + lead) };
}

function merged(ranges: readonly Range[]): readonly Range[] {
  const result: Range[] = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const before = result.at(-1);
    if (before === undefined || range.from > before.to) result.push(range);
    else result[result.length - 1] = { from: before.from, to: Math.max(before.to, range.to) };
  }
  return result;
}

/** At the end of a text that has no last line end, the line end before goes instead. */
function cut(text: string, { from, to }: Range): Edit {
  const hasOpenEnd = to === text.length && text[to - 1] !== '\n' && from > 0 && text[from - 1] === '\n';
  const start = hasOpenEnd ? from - (text[from - 2] === '\r' ? 2 : 1) : from;
  return { at: start, remove: to - start, insert: '', depth: 0 };
}

/** Something with an anchor cannot go while something that stays refers to it. */
function mayGo(manifest: Manifest, { from, to }: Range): void {
  for (const [name, { start }] of manifest.anchors.nodes) {
    if (start < from || start >= to) continue;
    const use = manifest.anchors.aliases.get(name)?.find((alias) => alias.start < from || alias.start >= to);
    if (use === undefined) continue;
    const lines = [start, use.start].map((offset) => placeAt(manifest, offset).line);
    throw errorAtOffset(
      manifest,
      start,
      `cannot take out &${name} (line ${lines[0]}): line ${lines[1]} refers to it by *${name}`,
    );
  }
}

/** Puts a text back behind the colon where it stood, and takes out what stands there now. */
function restoreEdits({ root, text }: Manifest, path: readonly string[], old: string): readonly Edit[] {
  const pair = pairOf(nodeAt(root, path.slice(0, -1)), path.at(-1) ?? '');
  if (pair === undefined) return [];
  const { value } = pair;
  const colon = afterColon(text, pair);
  const putBack = { at: colon, remove: 0, insert: old, depth: 0 };
  if (value === undefined || isEmptyNull(value)) return [putBack];
  const isBlock = (value.kind === 'map' || value.kind === 'list') && !value.flow;
  if (!isBlock) return [{ ...putBack, remove: value.end - colon }];
  const end = contentEnd(value);
  return [putBack, cut(text, { from: nextLine(text, colon), to: text[end - 1] === '\n' ? end : nextLine(text, end) })];
}
