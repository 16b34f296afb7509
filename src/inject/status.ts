import { isArray, isObject, type Json, objectAt } from '../json.js';

/**
 * The annotation `signet.dev/status`: what was added, so that `uninject` can take out exactly that. Items of lists are
 * named, not numbered: numbers would shift when somebody edits the manifest. Pointers start at the Pod template.
 */
export interface Status {
  /** By the pointer of a map or list, the keys or item names that were added to it. */
  readonly added: { readonly [parent: string]: readonly string[] };
  /** Maps and lists that did not exist before. */
  readonly created: readonly string[];
  /** By pointer, the text that had to make way, as it stood after the colon. */
  readonly replaced: { readonly [pointer: string]: string };
}

/** Writes a status, leaving out what is empty. */
export function writeStatus({ added, created, replaced }: Status): string {
  return JSON.stringify({
    added,
    ...(created.length > 0 ? { created } : {}),
    ...(Object.keys(replaced).length > 0 ? { replaced } : {}),
  });
}

/** Reads a status back; anybody can write an annotation, so whatever does not look like one is none. */
export function readStatus(text: string | undefined): Status | undefined {
  if (text === undefined) return undefined;
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(json) || !isObject(json.added)) return undefined;
  const added = Object.entries(json.added).map(([parent, keys]) => [parent, texts(keys)] as const);
  const replaced = Object.entries(objectAt(json, 'replaced')).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && !/[\r\n]/.test(entry[1]),
  );
  return { added: Object.fromEntries(added), created: texts(json.created), replaced: Object.fromEntries(replaced) };
}

function texts(value: Json | undefined): readonly string[] {
  return isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
