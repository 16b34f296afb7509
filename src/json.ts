/** What JSON can say. Objects are read through the functions below, which never look at a prototype. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

/** Tells a JSON object from everything else, arrays and null included. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Tells a JSON array from everything else. */
export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/**
 * Reads one own key; a key that only a prototype has (`constructor`, `__proto__`) is absent. Most keys that are asked for are not
 * there at all: they cost one look instead of two.
 */
export function at(value: Json | undefined, key: string): Json | undefined {
  if (!isObject(value)) return undefined;
  const found = value[key];
  return found !== undefined && Object.hasOwn(value, key) ? found : undefined;
}

/** Reads a key that should hold an object; anything else there reads as empty. */
export function objectAt(value: Json | undefined, key: string): JsonObject {
  const found = at(value, key);
  return isObject(found) ? found : {};
}

/** Reads a key that should hold a list; anything else there reads as empty. */
export function listAt(value: Json | undefined, key: string): readonly Json[] {
  const found = at(value, key);
  return isArray(found) ? found : [];
}

/** Reads a key that should hold a string; anything else there is absent. */
export function textAt(value: Json | undefined, key: string): string | undefined {
  const found = at(value, key);
  return typeof found === 'string' ? found : undefined;
}

/**
 * Reads one entry of a map of strings (labels, annotations). A manifest may hold an unquoted `true` or `80` there;
 * kubectl turns such a scalar into text before it is sent, so it counts as that text.
 */
export function entryOf(map: Json | undefined, key: string): string | undefined {
  const found = at(map, key);
  return found === undefined || found === null || typeof found === 'object' ? undefined : String(found);
}

/** Walks down a path of keys; numbers in it index lists. */
export function follow(value: Json | undefined, path: readonly string[]): Json | undefined {
  let current = value;
  for (const key of path) {
    current = isArray(current) ? current[Number(key)] : at(current, key);
  }
  return current;
}

/** Writes a path as a JSON Pointer (RFC 6901). */
export function pointer(path: readonly (string | number)[]): string {
  let text = '';
  for (const part of path) text += `/${escaped(String(part))}`;
  return text;
}

/** Most parts need no escaping, and looking is a tenth of the price of replacing. */
function escaped(part: string): string {
  if (!part.includes('/') && !part.includes('~')) return part;
  return part.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Reads a JSON Pointer back into its parts. */
export function partsOf(text: string): string[] {
  return text === ''
    ? []
    : text
        .slice(1)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Makes a value, and all that is in it, one that nobody can change: what is the same for many Pods. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) frozen(child);
  return Object.freeze(value);
}
