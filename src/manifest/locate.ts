import { excerptAt, ManifestError } from './errors.js';
import type { Node, Pair } from './node.js';
import { type Manifest, placeAt } from './parse.js';
import { isMergeKey, keyOf } from './read.js';

/** The pair of a map that has a key, if the map itself says it (a merge does not count). */
export function pairOf(map: Node | undefined, name: string): Pair | undefined {
  if (map?.kind !== 'map') return undefined;
  return map.pairs.find(
    ({ key }) => key.kind === 'scalar' && (key.source === name || keyOf(key) === name) && !isMergeKey(key),
  );
}

/** What a map holds under a key, or a list at an index; an alias is not followed. */
export function childOf(node: Node | undefined, key: string): Node | undefined {
  return node?.kind === 'list' ? node.items[Number(key)] : pairOf(node, key)?.value;
}

/** The node at a path, as far as the text itself goes. */
export function nodeAt(root: Node | undefined, path: readonly string[]): Node | undefined {
  return path.reduce(childOf, root);
}

/** The offset of a path, or of the deepest part of it that the text has: keys at the key, items of lists at the item. */
export function offsetOf({ root }: Manifest, path: readonly string[]): number {
  let node = root;
  let offset = root?.start ?? 0;
  for (const key of path) {
    const found = pairOf(node, key)?.key ?? childOf(node, key);
    if (found === undefined) break;
    offset = found.start;
    node = childOf(node, key);
  }
  return offset;
}

/** Makes an error that points at a path of a document. */
export function errorAt(manifest: Manifest, path: readonly string[], message: string): ManifestError {
  return errorAtOffset(manifest, offsetOf(manifest, path), message);
}

/** Makes an error that points at an offset of a document. */
export function errorAtOffset(manifest: Manifest, offset: number, message: string): ManifestError {
  return new ManifestError(placeAt(manifest, offset), message, excerptAt(manifest.text, offset));
}

/** Where the content of a node ends: after its last character, or, for a block scalar, at the start of the next line. */
export function contentEnd(node: Node): number {
  if (node.kind === 'map' && !node.flow) {
    const last = node.pairs.at(-1);
    if (last !== undefined) return pairEnd(last);
  }
  const lastItem = node.kind === 'list' && !node.flow ? node.items.at(-1) : undefined;
  return lastItem === undefined ? node.end : contentEnd(lastItem);
}

/** Where a pair ends; an empty value stands right behind the colon. */
export function pairEnd({ key, value }: Pair): number {
  return value === undefined ? key.end : contentEnd(value);
}

/** The offset right behind the colon of a pair. */
export function afterColon(text: string, { key, value }: Pair): number {
  const colon = text.indexOf(':', key.end);
  const limit = value?.start ?? text.length;
  return colon < 0 || colon >= Math.max(limit, key.end + 1) ? key.end : colon + 1;
}

/** True of a value that is there only in name: nothing after the colon, or a null. */
export function isNull(node: Node | undefined): boolean {
  if (node === undefined) return true;
  return node.kind === 'scalar' && node.plain && node.tag === undefined && /^(|~|null|Null|NULL)$/.test(node.source);
}

/** True of a null that takes no room in the text. */
export function isEmptyNull(node: Node | undefined): boolean {
  return isNull(node) && (node?.kind !== 'scalar' || node.source === '');
}
