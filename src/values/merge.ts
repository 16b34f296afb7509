import { isObject, type JsonObject } from '../json.js';

/** Lays one tree over another as Helm does: maps merge, lists and scalars replace, `null` deletes. */
export function merge(base: JsonObject, over: JsonObject): JsonObject {
  const result: Record<string, JsonObject[string]> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (value === null) delete result[key];
    // Assigned like the others, this one would become the prototype.
    else if (key !== '__proto__') {
      const below = Object.hasOwn(result, key) ? result[key] : undefined;
      result[key] = isObject(value) ? merge(isObject(below) ? below : {}, value) : value;
    }
  }
  return result;
}
