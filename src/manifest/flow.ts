import { lineStart } from './edits.js';
import type { FlowStyle } from './emit.js';
import type { ListNode, MapNode } from './node.js';
import { columnOf, type Style } from './style.js';

/** How a flow collection is written, and the column at which its items stand or would stand. */
export interface Flow extends FlowStyle {
  readonly indent: number;
}

/** Reads the style of a flow collection off its first item. */
export function flowOf(text: string, node: MapNode | ListNode, { eol }: Style): Flow {
  const line = indentOfLine(text, node.start);
  const first = node.kind === 'map' ? node.pairs[0]?.key : node.items[0];
  if (first === undefined) return { eol, ...flowOfEmpty(text, line) };
  const spread = text.slice(node.start, first.start).includes('\n');
  const column = columnOf(text, first.start);
  const step = spread ? Math.max(1, column - line) : undefined;
  return { eol, step, blank: isMinified(text) ? '' : ' ', indent: spread ? column : 0 };
}

/** An empty collection shows no style of its own; in a document that is JSON over several lines it takes that one's. */
function flowOfEmpty(text: string, line: number): Omit<Flow, 'eol'> {
  const step = /^\s*[[{]\r?\n([ \t]+)/.exec(text)?.[1]?.length;
  return { step, blank: isMinified(text) ? '' : ' ', indent: step === undefined ? 0 : line + step };
}

/** JSON without a blank after its first colon; in YAML a blank is needed unless the key is quoted. */
function isMinified(text: string): boolean {
  return /^\s*[[{]+\s*"(?:[^"\\]|\\.)*":\S/.test(text);
}

function indentOfLine(text: string, offset: number): number {
  return /^ */.exec(text.slice(lineStart(text, offset), offset))?.[0].length ?? 0;
}
