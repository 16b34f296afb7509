import type { Json } from '../json.js';
import { excerptAt, ManifestError, type Place } from './errors.js';
import { parseFull } from './full.js';
import type { Node } from './node.js';
import { type Anchors, Reader } from './read.js';
import { parseSimple } from './simple.js';

/** One document of a stream: its text, its nodes with their offsets, and what Kubernetes would read from it. */
export interface Manifest {
  readonly file: string;
  /** The line of the file on which the text begins, from zero. */
  readonly firstLine: number;
  readonly text: string;
  readonly root: Node | undefined;
  readonly json: Json;
  readonly anchors: Anchors;
  /** Read by the quick reader: plain block style, in which nothing can go wrong when text is inserted. */
  readonly isSimple: boolean;
}

/** Parses one document; what is wrong with it is thrown with its line and column. */
export function parseManifest(text: string, file: string, firstLine = 0): Manifest {
  const fail = (offset: number, message: string): never => {
    throw new ManifestError(placeAt({ file, firstLine, text }, offset), message, excerptAt(text, offset));
  };
  const simple = parseSimple(text);
  const parsed = simple === undefined ? parseFull(text) : { root: simple };
  if ('fault' in parsed) return fail(parsed.fault.offset, parsed.fault.message);
  const { root } = parsed;
  const reader = new Reader(text, fail);
  try {
    return {
      file,
      firstLine,
      text,
      root,
      json: root === undefined ? null : reader.read(root),
      anchors: reader.anchors,
      isSimple: simple !== undefined,
    };
  } catch (error) {
    if (error instanceof RangeError) return fail(0, 'the document is nested too deeply');
    throw error;
  }
}

/** Line and column of an offset in a document. */
export function placeAt(manifest: Pick<Manifest, 'file' | 'firstLine' | 'text'>, offset: number): Place {
  const starts = known.get(manifest) ?? lineStarts(manifest.text);
  known.set(manifest, starts);
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle;
  }
  return { file: manifest.file, line: manifest.firstLine + low + 1, column: offset - (starts[low] ?? 0) + 1 };
}

/** A list of a thousand workloads is asked for as many places: its lines are counted once. */
const known = new WeakMap<object, readonly number[]>();

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return starts;
}
