import { lineStart } from './edits.js';
import { childOf, nodeAt } from './locate.js';
import type { Node } from './node.js';
import type { Manifest } from './parse.js';

/** How a document is laid out, so that what is added looks as if its author had written it. */
export interface Style {
  readonly eol: string;
  /** Columns by which a map is indented below its key. */
  readonly step: number;
  /** Columns by which the dashes of a list are indented below its key. */
  readonly dash: number;
}

/** Reads the style off the document: most of all off the Pod template, where most is added. */
export function styleOf({ text, root }: Manifest, template: readonly string[]): Style {
  const path = [...template, 'spec'];
  const spec = nodeAt(root, path) ?? nodeAt(root, ['spec']) ?? root;
  return {
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    step: stepOf(text, root, path) ?? 2,
    dash: dashOf(text, spec) ?? 0,
  };
}

/** The first block map on the way to the template that stands below its key. */
function stepOf(text: string, root: Node | undefined, path: readonly string[]): number | undefined {
  let parent = root;
  for (const key of path) {
    const child = childOf(parent, key);
    if (parent?.kind === 'map' && !parent.flow && child?.kind === 'map' && !child.flow) {
      const step = columnOf(text, child.start) - columnOf(text, parent.start);
      if (step > 0) return step;
    }
    parent = child;
  }
  return undefined;
}

/** The first block list among the entries of the spec. */
function dashOf(text: string, spec: Node | undefined): number | undefined {
  if (spec?.kind !== 'map' || spec.flow) return undefined;
  const list = spec.pairs.find(({ value }) => value?.kind === 'list' && !value.flow)?.value;
  return list && Math.max(0, columnOf(text, list.start) - columnOf(text, spec.start));
}

/** How far in an offset is on its line. */
export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}
