import { isMap, isSeq } from 'yaml';
import { lineStart } from './edits.js';
import { childOf } from './locate.js';
import { type Manifest, type Node, startOf } from './parse.js';

/** How a document is laid out, so that what is added looks as if its author had written it. */
export interface Style {
  readonly eol: string;
  /** Columns by which a map is indented below its key. */
  readonly step: number;
  /** Columns by which the dashes of a list are indented below its key. */
  readonly dash: number;
}

/** Reads the style off the document: most of all off the Pod template, where most is added. */
export function styleOf(manifest: Manifest, template: readonly string[]): Style {
  const { text, root } = manifest;
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const spec = follow(root, [...template, 'spec']) ?? follow(root, ['spec']) ?? root;
  return { eol, step: stepOf(text, root, [...template, 'spec']) ?? 2, dash: dashOf(text, spec) ?? 0 };
}

function follow(root: Node | undefined, path: readonly string[]): Node | undefined {
  return path.reduce<Node | undefined>((node, key) => node && childOf(node, key), root);
}

/** The first block map on the way to the template that stands below its key. */
function stepOf(text: string, root: Node | undefined, path: readonly string[]): number | undefined {
  let parent = root;
  for (const key of path) {
    const child = parent && childOf(parent, key);
    if (isMap(parent) && !parent.flow && isMap(child) && !child.flow) {
      const step = columnOf(text, startOf(child)) - columnOf(text, startOf(parent));
      if (step > 0) return step;
    }
    parent = child;
  }
  return undefined;
}

/** The first block list among the entries of the spec. */
function dashOf(text: string, spec: Node | undefined): number | undefined {
  if (!isMap(spec) || spec.flow) return undefined;
  for (const { value } of spec.items) {
    if (isSeq(value) && !value.flow && value.range)
      return Math.max(0, columnOf(text, value.range[0]) - columnOf(text, startOf(spec)));
  }
  return undefined;
}

export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}
