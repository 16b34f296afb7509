import { isArray, isObject, type Json, type JsonObject } from '../../json.js';
import { canonicalQuantity } from '../settings/quantity.js';

/** A container as Kubernetes' own structures print it: zero delays and empty values left out, quantities canonical. */
export function asTyped(container: JsonObject): JsonObject {
  const result = walk(container, '');
  return isObject(result) ? result : container;
}

function walk(value: Json, key: string): Json {
  if (isArray(value)) return value.map((one) => walk(one, ''));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(
    ([name, child]) => !(name === 'initialDelaySeconds' && child === 0) && !(name === 'value' && child === ''),
  );
  const amounts = key === 'limits' || key === 'requests';
  return Object.fromEntries(
    entries.map(([name, child]) => [name, amounts ? canonicalQuantity(String(child)) : walk(child, name)]),
  );
}
