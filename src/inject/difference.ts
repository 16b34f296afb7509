import { at, isArray, isObject, type Json, pointer, textAt } from '../json.js';
import { canonicalQuantity } from './settings/quantity.js';

/** Where something that we would write is not as we would write it; what the API server fills in does not count. */
export function difference(found: Json | undefined, wanted: Json, path: readonly string[] = []): string | undefined {
  if (isArray(wanted)) return listDifference(isArray(found) ? found : [], wanted, path);
  if (isObject(wanted)) {
    for (const [key, value] of Object.entries(wanted)) {
      const place = difference(at(found, key), value, [...path, key]);
      if (place !== undefined) return place;
    }
    return undefined;
  }
  // A zero or an empty text that was left out means the same.
  const isAmount = path.some((key) => amounts.includes(key));
  if (isAmount && sameAmount(found, wanted)) return undefined;
  const isSame = found === wanted || (found === undefined && (wanted === '' || wanted === 0 || wanted === false));
  return isSame ? undefined : pointer(path);
}

const amounts = ['limits', 'requests', 'sizeLimit', 'divisor'];

/** The API server writes quantities its own way: 1000m is 1 there, and 1024Mi is 1Gi. */
function sameAmount(found: Json | undefined, wanted: Json): boolean {
  const canonical = (value: Json | undefined) => canonicalQuantity(String(value ?? ''));
  return found !== undefined && canonical(found) === canonical(wanted);
}

/** Items with a name are compared by it, since others may add their own; all others in their order. */
function listDifference(found: readonly Json[], wanted: readonly Json[], path: readonly string[]): string | undefined {
  const isNamed = wanted.every((item) => typeof at(item, 'name') === 'string');
  if (!isNamed && found.length !== wanted.length) return pointer(path);
  for (const [index, item] of wanted.entries()) {
    const name = at(item, 'name');
    const own = isNamed ? found.find((one) => at(one, 'name') === name) : found[index];
    const place = difference(own, item, [...path, isNamed ? String(name) : String(index)]);
    if (place !== undefined) return place;
  }
  const gone = isNamed && path[0] === 'env' ? found.find((one) => isOurs(one, wanted)) : undefined;
  return gone === undefined ? undefined : pointer([...path, String(at(gone, 'name'))]);
}

/** A variable of the proxy that we would no longer set; nobody else has a reason to set one. */
function isOurs(variable: Json, wanted: readonly Json[]): boolean {
  const name = textAt(variable, 'name') ?? '';
  return name.startsWith('LINKERD2_PROXY_') && !wanted.some((one) => at(one, 'name') === name);
}
