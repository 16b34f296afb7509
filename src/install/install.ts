import { withAdditions } from '../inject/patch.js';
import { isObject, type JsonObject, objectAt, partsOf, textAt } from '../json.js';
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
  const result = withAdditions(
    object,
    operations.map(({ path, value }) => ({ path: partsOf(path), value })),
  );
  return isObject(result) ? result : object;
}
