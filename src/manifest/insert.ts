import { isArray, isObject, type Json } from '../json.js';
import { type Edit, isFirstOnLine, lineStart, nextLine } from './edits.js';
import { blockEntry, blockItem, flowEntry, flowValue, pad } from './emit.js';
import { type Flow, flowOf } from './flow.js';
import { afterColon, contentEnd, isEmptyNull, isNull, nodeAt, pairEnd, pairOf } from './locate.js';
import type { AliasNode, ListNode, MapNode, Pair } from './node.js';
import type { Manifest } from './parse.js';
import { type FillPlan, type Insertion, type ListPlan, type Plan, Planner, type Slot } from './plan.js';
import { columnOf, type Style } from './style.js';

type Entries = ReadonlyMap<string, Json>;

/** The text edits that make additions to a document. They only insert; a null, or a value that changes, is replaced. */
export function insertionEdits(manifest: Manifest, insertions: readonly Insertion[], style: Style): readonly Edit[] {
  const planner = new Planner(manifest);
  for (const insertion of insertions) planner.add(insertion);
  return [...planner.plans.values()].flatMap((plan) => editsFor(manifest.text, plan, style));
}

/**
 * The text that must make way when something is added at a path, so that it can be put back one day; empty when adding
 * is enough.
 */
export function keptText({ root, text }: Manifest, path: readonly string[]): string {
  const pair = pairOf(nodeAt(root, path.slice(0, -1)), path.at(-1) ?? '');
  const value = pair?.value;
  if (pair === undefined || isEmptyNull(value) || value?.kind === 'map' || value?.kind === 'list') return '';
  return text.slice(afterColon(text, pair), value?.end);
}

function editsFor(text: string, plan: Plan, style: Style): readonly Edit[] {
  switch (plan.do) {
    case 'extend map':
      return [(plan.node.flow ? flowMapEdit : blockMapEdit)(text, plan.node, plan.entries, style)];
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

function blockMapEdit(text: string, node: MapNode, entries: Entries, style: Style): Edit {
  const column = columnOf(text, node.start);
  let lines = '';
  for (const [key, value] of entries) lines += blockEntry(key, value, column, style);
  return linesAt(text, below(text, contentEnd(node)), lines, column * 2, style.eol);
}

function blockListEdits(text: string, { node, pair, items }: ListPlan, style: Style): readonly Edit[] {
  const column = columnOf(text, node.start);
  const lines = (slots: readonly Slot[]) =>
    slots.map((slot) => ('fresh' in slot ? blockItem(slot.fresh, column, style) : '')).join('');
  const firstOld = items.findIndex((slot) => 'old' in slot);
  const head = lines(items.slice(0, firstOld));
  const tail = lines(items.slice(firstOld));
  return [
    ...(head === '' ? [] : [prependEdit(text, node.start, pair, head, column)]),
    ...(tail === '' ? [] : [linesAt(text, below(text, contentEnd(node)), tail, column * 2 + 1, style.eol)]),
  ];
}

/** New first items go right below the key, so that a comment above the old first item stays with it. */
function prependEdit(text: string, dash: number, pair: Pair | undefined, lines: string, column: number): Edit {
  const depth = column * 2 + 1;
  const header = pair === undefined ? -1 : nextLine(text, afterColon(text, pair));
  if (header >= 0 && header <= dash) return { at: header, remove: 0, insert: lines, depth };
  if (isFirstOnLine(text, dash)) return { at: lineStart(text, dash), remove: 0, insert: lines, depth };
  return { at: dash, remove: 0, insert: lines.slice(column) + pad(column), depth };
}

function flowMapEdit(text: string, node: MapNode, entries: Entries, style: Style): Edit {
  const flow = flowOf(text, node, style);
  const texts = [...entries].map(([key, value]) => flowEntry(key, value, flow.indent, flow));
  const last = node.pairs.at(-1);
  return last === undefined ? intoEmpty(text, node, texts, flow) : behind(pairEnd(last), texts, flow);
}

function flowListEdits(text: string, node: ListNode, items: readonly Slot[], style: Style): readonly Edit[] {
  const flow = flowOf(text, node, style);
  const write = (slots: readonly Slot[]) =>
    slots.flatMap((slot) => ('fresh' in slot ? [flowValue(slot.fresh, flow.indent, flow)] : []));
  const [first, last] = [node.items[0], node.items.at(-1)];
  if (first === undefined || last === undefined) return [intoEmpty(text, node, write(items), flow)];
  const firstOld = items.findIndex((slot) => 'old' in slot);
  const head = write(items.slice(0, firstOld)).map((one) => one + separator(flow));
  const tail = write(items.slice(firstOld));
  return [
    ...(head.length === 0 ? [] : [{ at: first.start, remove: 0, insert: head.join(''), depth: 0 }]),
    ...(tail.length === 0 ? [] : [behind(last.end, tail, flow)]),
  ];
}

function separator(flow: Flow): string {
  return flow.step === undefined ? `,${flow.blank}` : `,${flow.eol}${pad(flow.indent)}`;
}

function behind(at: number, texts: readonly string[], flow: Flow): Edit {
  return { at, remove: 0, insert: texts.map((one) => separator(flow) + one).join(''), depth: 0 };
}

/** Into brackets with nothing between them; over several lines where the document is, unless they are apart already. */
function intoEmpty(text: string, node: MapNode | ListNode, texts: readonly string[], flow: Flow): Edit {
  const at = node.start + 1;
  const isApart = text.slice(at, node.end).includes('\n');
  if (flow.step === undefined || isApart) return { at, remove: 0, insert: texts.join(`,${flow.blank}`), depth: 0 };
  const lead = flow.eol + pad(flow.indent);
  return {
    at,
    remove: 0,
    insert: lead + texts.join(separator(flow)) + flow.eol + pad(flow.indent - flow.step),
    depth: 0,
  };
}

/** A map that is given by alias becomes a map that merges the alias and has the new entries beside it. */
function aliasEdits(node: AliasNode, entries: Entries, style: Style): readonly Edit[] {
  const flow = { eol: style.eol, step: undefined, blank: ' ' } as const;
  const added = [...entries].map(([key, value]) => `, ${flowEntry(key, value, 0, flow)}`).join('');
  return [
    { at: node.start, remove: 0, insert: '{<<: ', depth: 0 },
    // The blank ends the alias: without it a comma would be part of its name.
    { at: node.end, remove: 0, insert: ` ${added}}`, depth: 0 },
  ];
}

/** Puts a value where a null or another value stands; children of a block go below, and a comment on the line stays. */
function fillEdits(text: string, { pair, parent, value }: FillPlan, style: Style): readonly Edit[] {
  const colon = afterColon(text, pair);
  const end = pair.value?.end ?? colon;
  const spot = { at: colon, remove: isEmptyNull(pair.value) ? 0 : end - colon, depth: 0 };
  if (parent.flow) {
    const flow = flowOf(text, parent, style);
    return [{ ...spot, insert: ` ${flowValue(value, flow.indent, flow)}` }];
  }
  const column = columnOf(text, pair.key.start);
  const entry = blockEntry('x', value, column, style).slice(column + 2);
  const goesBelow = (isArray(value) || isObject(value)) && isNull(pair.value) && entry.startsWith(style.eol);
  if (!goesBelow) return [{ ...spot, insert: entry.slice(0, -style.eol.length) }];
  const children = linesAt(text, nextLine(text, end), entry.slice(style.eol.length), column * 2 + 1, style.eol);
  return spot.remove === 0 ? [children] : [{ ...spot, insert: '' }, children];
}
