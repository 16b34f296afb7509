import { isAlias, isMap, isScalar, isSeq, parseDocument, type YAMLParseError } from 'yaml';
import type { Node, Pair } from './node.js';

/** What the parser found wrong, and where. */
export interface Fault {
  readonly offset: number;
  readonly message: string;
}

// Scalars stay text and keys may repeat: both are looked at by `read.ts`, as Kubernetes does, and in linear time.
const options = {
  schema: 'failsafe',
  uniqueKeys: false,
  prettyErrors: false,
  resolveKnownTags: false,
  logLevel: 'error',
} as const;

/** Parses any document there is, with the yaml package. */
export function parseFull(text: string): { readonly root: Node | undefined } | { readonly fault: Fault } {
  try {
    const { errors, contents } = parseDocument(text, options);
    const [error] = errors;
    if (error !== undefined)
      return { fault: { offset: Math.min(error.pos[0], text.length), message: sentenceOf(error, text) } };
    return { root: nodeOf(contents, 0) };
  } catch (error) {
    if (error instanceof RangeError) return { fault: { offset: 0, message: 'the document is nested too deeply' } };
    throw error;
  }
}

/** What the parser means in a person's words, where its own are for programmers. */
const words: ReadonlyMap<string, string> = new Map([
  ['MULTIPLE_DOCS', 'a second document begins here, where one is expected'],
  ['BLOCK_AS_IMPLICIT_KEY', 'a map cannot begin here; a text with a colon in it needs quotes'],
  ['MULTILINE_IMPLICIT_KEY', 'a key must end on its line; is the blank after a colon missing?'],
]);

function sentenceOf({ code, message, pos }: YAMLParseError, text: string): string {
  const lineStart = text.lastIndexOf('\n', pos[0] - 1) + 1;
  const line = text.slice(lineStart, text.indexOf('\n', pos[0]) + 1 || undefined);
  if (/\{\{.*\}\}/.test(line))
    return 'this looks like a Helm template: let `helm template` make a manifest of it first';
  if (/call stack/i.test(message)) return 'the document is nested too deeply';
  return words.get(code) || message.replace(/^[A-Z](?=[a-z])/, (one) => one.toLowerCase());
}

function nodeOf(found: unknown, fallback: number): Node | undefined {
  if (isAlias(found))
    return { kind: 'alias', name: found.source, anchor: undefined, ...rangeOf(found.range, fallback) };
  if (isScalar(found)) {
    const source = found.source ?? String(found.value ?? '');
    return {
      kind: 'scalar',
      source,
      plain: found.type === 'PLAIN',
      tag: found.tag,
      anchor: found.anchor,
      ...rangeOf(found.range, fallback),
    };
  }
  if (isSeq(found)) {
    const items = found.items.map((item) => nodeOf(item, fallback)).filter((item) => item !== undefined);
    return { kind: 'list', flow: found.flow === true, items, anchor: found.anchor, ...rangeOf(found.range, fallback) };
  }
  if (!isMap(found)) return undefined;
  const pairs = found.items.flatMap(({ key, value }): Pair[] => {
    const keyNode = nodeOf(key, fallback);
    return keyNode === undefined ? [] : [{ key: keyNode, value: nodeOf(value, keyNode.end) }];
  });
  return { kind: 'map', flow: found.flow === true, pairs, anchor: found.anchor, ...rangeOf(found.range, fallback) };
}

function rangeOf(
  range: readonly number[] | null | undefined,
  fallback: number,
): { readonly start: number; readonly end: number } {
  return { start: range?.[0] ?? fallback, end: range?.[1] ?? fallback };
}
