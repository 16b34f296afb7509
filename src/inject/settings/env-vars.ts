import { at, isArray, isObject, type Json, type JsonObject, textAt } from '../../json.js';
import { invalid, type Parsed, valid } from './parsers.js';

const expected = 'a JSON array of EnvVar objects, such as [{"name":"A","value":"b"}]';

/** The members of each source that Kubernetes knows; others are dropped, as its own decoder does. */
const sources: ReadonlyMap<string, readonly string[]> = new Map([
  ['configMapKeyRef', ['name', 'key', 'optional']],
  ['fieldRef', ['apiVersion', 'fieldPath']],
  ['fileKeyRef', ['volumeName', 'path', 'key', 'optional']],
  ['resourceFieldRef', ['containerName', 'resource', 'divisor']],
  ['secretKeyRef', ['name', 'key', 'optional']],
]);

/** Reads the JSON of an annotation into environment variables. */
export function envVars(text: string): Parsed<readonly JsonObject[]> {
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    return invalid(expected);
  }
  if (json === null) return valid([]);
  if (!isArray(json)) return invalid(expected);
  const variables: JsonObject[] = [];
  for (const one of json) {
    const name = textAt(one, 'name');
    const value = at(one, 'value');
    const wrong =
      !isObject(one) || name === undefined || (value !== undefined && value !== null && typeof value !== 'string');
    if (wrong || name === undefined) return invalid(expected);
    variables.push(known(name, value, at(one, 'valueFrom')));
  }
  return valid(variables);
}

function known(name: string, value: Json | undefined, from: Json | undefined): JsonObject {
  const variable: Record<string, Json> = { name };
  if (typeof value === 'string' && value !== '') variable.value = value;
  if (isObject(from)) variable.valueFrom = knownSource(from);
  return variable;
}

function knownSource(from: JsonObject): JsonObject {
  const result: Record<string, Json> = {};
  for (const [source, members] of sources) {
    const given = at(from, source);
    if (!isObject(given)) continue;
    const kept = members.flatMap((member) => {
      const found = at(given, member);
      // Every member is a scalar; what is not would be refused by the API server, or worse, be deep.
      const isNothing = found === undefined || found === null || found === '' || typeof found === 'object';
      return isNothing ? [] : [[member, found] as const];
    });
    result[source] = Object.fromEntries(
      source === 'resourceFieldRef' && at(given, 'divisor') === undefined ? [...kept, ['divisor', '0']] : kept,
    );
  }
  return result;
}

/** Variables of a values file as Kubernetes' decoder takes them: scalars are text, unknown members are dropped. */
export function typedEnv(variables: readonly JsonObject[]): readonly JsonObject[] {
  return variables.map((one) => {
    const value = at(one, 'value');
    const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
    return known(String(at(one, 'name') ?? ''), text, at(one, 'valueFrom'));
  });
}

/** Lays one list of variables over another: the same name replaces in place, a new one is appended. */
export function overlayEnv(base: readonly JsonObject[], over: readonly JsonObject[]): readonly JsonObject[] {
  const result = [...base];
  const places = new Map(result.map((one, index) => [at(one, 'name'), index] as const).reverse());
  for (const variable of over) {
    const index = places.get(at(variable, 'name'));
    if (index !== undefined) result[index] = variable;
    else places.set(at(variable, 'name'), result.push(variable) - 1);
  }
  return result;
}
