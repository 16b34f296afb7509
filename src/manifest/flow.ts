import { isMap, type YAMLMap, type YAMLSeq } from 'yaml';
import { lineStart } from './edits.js';
import type { FlowStyle } from './emit.js';
import { isNode, startOf } from './parse.js';
import { columnOf, type Style } from './style.js';

/** How a flow collection is written, and the column at which its items stand (or would stand). */
export function flowStyleOf(
  text: string,
  node: YAMLMap | YAMLSeq,
  style: Style,
): FlowStyle & { readonly indent: number } {
  const open = startOf(node);
  const first: unknown = isMap(node) ? node.items[0]?.key : node.items[0];
  const line = indentOfLine(text, open);
  if (!isNode(first)) return { eol: style.eol, ...emptyStyle(text, line) };
  const start = startOf(first);
  const spread = text.slice(open, start).includes('\n');
  const column = columnOf(text, start);
  return {
    eol: style.eol,
    step: spread ? Math.max(1, column - line) : undefined,
    blank: blankIn(text, node),
    indent: spread ? column : 0,
  };
}

/** An empty collection shows no style of its own; in a document that is JSON over several lines it takes that one's. */
function emptyStyle(
  text: string,
  line: number,
): { readonly step: number | undefined; readonly blank: '' | ' '; readonly indent: number } {
  const lead = /^\s*[[{](\r?\n)([ \t]+)/.exec(text);
  const step = lead?.[2]?.length;
  const minified = /^\s*[[{]"(?:[^"\\]|\\.)*":\S/.test(text);
  return { step, blank: minified ? '' : ' ', indent: step === undefined ? 0 : line + step };
}

/** Minified JSON has no blank after the colon; YAML needs one unless the key is quoted. */
function blankIn(text: string, node: YAMLMap | YAMLSeq): '' | ' ' {
  const sample = text.slice(startOf(node), node.range?.[1]);
  return /"(?:[^"\\]|\\.)*":\S/.test(sample.slice(0, 2000)) ||
    (!/[:,]\s/.test(sample.slice(0, 2000)) && /^\s*[[{]"[^"]*":\S/.test(text))
    ? ''
    : ' ';
}

function indentOfLine(text: string, offset: number): number {
  const start = lineStart(text, offset);
  return /^ */.exec(text.slice(start, offset))?.[0].length ?? 0;
}
