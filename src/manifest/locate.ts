import { isAlias, isMap, isScalar, isSeq, type Pair } from 'yaml';
import { excerptAt, ManifestError } from './errors.js';
import { isMergeKey, isNode, keyOf, type Manifest, type Node, placeAt, startOf } from './parse.js';

/** The pair of a map that has a key, if the map itself says it (a merge does not count). */
export function pairOf(map: Node, key: string): Pair | undefined {
  if (!isMap(map)) return undefined;
  for (const pair of map.items) {
    const found = pair.key;
    if (isScalar(found) && (found.source === key || keyOf(found) === key) && !isMergeKey(found)) return pair;
  }
  return undefined;
}

/** What a map holds under a key, or a list at an index; an alias is not followed. */
export function childOf(node: Node, key: string): Node | undefined {
  const child: unknown = isSeq(node) ? node.items[Number(key)] : pairOf(node, key)?.value;
  return isNode(child) ? child : undefined;
}

/** The offset of a path, or of the deepest part of it that the text has: keys at the key, items of lists at the item. */
export function offsetOf({ root }: Manifest, path: readonly string[]): number {
  let node = root;
  let offset = root === undefined ? 0 : startOf(root);
  for (const key of path) {
    if (node === undefined) break;
    const pair = pairOf(node, key);
    const child = childOf(node, key);
    if (pair !== undefined && isNode(pair.key)) offset = startOf(pair.key);
    else if (child !== undefined) offset = startOf(child);
    else break;
    node = child;
  }
  return offset;
}

/** Makes an error that points at a path of a document. */
export function errorAt(manifest: Manifest, path: readonly string[], message: string): ManifestError {
  return errorAtOffset(manifest, offsetOf(manifest, path), message);
}

export function errorAtOffset(manifest: Manifest, offset: number, message: string): ManifestError {
  return new ManifestError(placeAt(manifest, offset), message, excerptAt(manifest.text, offset));
}

/** Where the content of a node ends: after its last character, or, for a block scalar, at the start of the next line. */
export function contentEnd(node: Node): number {
  if (isMap(node) && !node.flow) {
    const last = node.items.at(-1);
    if (last !== undefined) return pairEnd(last);
  }
  if (isSeq(node) && !node.flow) {
    const last: unknown = node.items.at(-1);
    if (isNode(last)) return contentEnd(last);
  }
  return node.range?.[1] ?? 0;
}

/** Where a pair ends; one without a value ends with its colon, which the empty value stands behind. */
export function pairEnd({ key, value }: Pair): number {
  if (isNode(value)) return contentEnd(value);
  return isNode(key) ? (key.range?.[1] ?? 0) : 0;
}

/** The offset right behind the colon of a pair. */
export function afterColon(text: string, { key, value }: Pair): number {
  const from = isNode(key) ? (key.range?.[1] ?? 0) : 0;
  const limit = isNode(value) ? startOf(value) : text.length;
  const colon = text.indexOf(':', from);
  return colon < 0 || colon >= Math.max(limit, from + 1) ? from : colon + 1;
}

/** True of a value that is there only in name: nothing after the colon, or a null. */
export function isNull(node: unknown): boolean {
  return (
    !isNode(node) ||
    (isScalar(node) &&
      node.type === 'PLAIN' &&
      node.tag === undefined &&
      /^(|~|null|Null|NULL)$/.test(node.source ?? ''))
  );
}

/** True of a null that takes no room in the text. */
export function isEmptyNull(node: unknown): boolean {
  return isNull(node) && (!isNode(node) || (!isAlias(node) && isScalar(node) && (node.source ?? '') === ''));
}
