import { isArray, isObject, type Json, type JsonObject, objectAt, partsOf, textAt } from '../json.js';
import { base, type ComponentPatch, components } from './components.js';
import type { InstallOptions } from './options.js';

/** Everything that an installation with some components consists of, in the order of applying. */
export function install(options: InstallOptions, chosen: readonly string[]): readonly JsonObject[] {
  const picked = Object.entries(components)
    .filter(([name]) => chosen.includes(name))
    .map(([, component]) => component);
  const patches = picked.flatMap((component) => component.patches(options));
  const all = [...base(options), ...picked.flatMap((component) => component.objects(options))];
  const patched = all.map((object) => patches.filter((patch) => isFor(patch, object)).reduce(apply, object));
  return [...patched].sort((a, b) => rank(a) - rank(b));
}

/** What to delete, in an order in which nothing is blocked meanwhile: first whoever asks, then whoever answers. */
export function uninstall(options: InstallOptions): readonly JsonObject[] {
  return [...install(options, Object.keys(components))].reverse().sort((a, b) => deletionRank(a) - deletionRank(b));
}

const applyOrder = [
  'Namespace',
  'ServiceAccount',
  'ConfigMap',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
];
const lastToApply = ['MutatingWebhookConfiguration', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];

function rank(object: JsonObject): number {
  const kind = textAt(object, 'kind') ?? '';
  const early = applyOrder.indexOf(kind);
  const late = lastToApply.indexOf(kind);
  return early >= 0 ? early - 100 : late >= 0 ? late + 100 : 0;
}

function deletionRank(object: JsonObject): number {
  const kind = textAt(object, 'kind') ?? '';
  const first = [
    'ValidatingAdmissionPolicyBinding',
    'ValidatingAdmissionPolicy',
    'MutatingWebhookConfiguration',
  ].indexOf(kind);
  return first >= 0 ? first - 10 : kind === 'Namespace' ? 10 : 0;
}

function isFor({ kind, name }: ComponentPatch, object: JsonObject): boolean {
  return textAt(object, 'kind') === kind && textAt(objectAt(object, 'metadata'), 'name') === name;
}

function apply(object: JsonObject, { operations }: ComponentPatch): JsonObject {
  const result = operations.reduce<Json>((json, { path, value }) => withAdded(json, partsOf(path), value), object);
  return isObject(result) ? result : object;
}

/** RFC 6902's `add` on a copy; enough for our own patches. */
function withAdded(json: Json, [key = '', ...rest]: readonly string[], value: Json): Json {
  if (isArray(json)) {
    if (key === '-') return [...json, value];
    if (rest.length === 0) return [...json.slice(0, Number(key)), value, ...json.slice(Number(key))];
    return json.map((item, index) => (String(index) === key ? withAdded(item, rest, value) : item));
  }
  const map = isObject(json) ? json : {};
  return { ...map, [key]: rest.length === 0 ? value : withAdded(map[key] ?? {}, rest, value) };
}
