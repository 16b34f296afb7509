import { isArray, isObject, type Json, pointer } from '../json.js';
import type { Addition } from './additions.js';

/** One operation of a JSON Patch; signet makes no other kind. */
export interface AddOperation {
  readonly op: 'add';
  readonly path: string;
  readonly value: Json;
}

/** The additions as the JSON Patch (RFC 6902) that the API server applies. */
export function patchOf(additions: readonly Addition[]): AddOperation[] {
  return additions.map(({ path, value }) => ({ op: 'add', path: pointer(path), value }));
}

/** A value with additions made to it, as RFC 6902's `add` makes them, on a copy. */
export function withAdditions(json: Json, additions: readonly Addition[]): Json {
  return additions.reduce<Json>((value, { path, value: added }) => withAdded(value, path, added), json);
}

function withAdded(json: Json, [key = '', ...rest]: readonly string[], value: Json): Json {
  if (isArray(json)) {
    const at = key === '-' ? json.length : Number(key);
    if (rest.length === 0) return [...json.slice(0, at), value, ...json.slice(at)];
    return json.map((item, index) => (index === at ? withAdded(item, rest, value) : item));
  }
  const map = isObject(json) ? json : {};
  const below = Object.hasOwn(map, key) ? (map[key] ?? {}) : {};
  return { ...map, [key]: rest.length === 0 ? value : withAdded(below, rest, value) };
}
