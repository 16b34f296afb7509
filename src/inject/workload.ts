import {
  at,
  entryOf,
  follow,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  textAt,
} from '../json.js';

/** A kind that carries a Pod template, and where. */
export interface TemplateRow {
  readonly kind: string;
  /** API group that the kind must be of; without it any group will do, as in Linkerd. */
  readonly group?: string;
  readonly path: readonly string[];
}

const inSpec = ['spec', 'template'] as const;

/** Kubernetes' own kinds, and the custom ones that are met most. */
export const templates: readonly TemplateRow[] = [
  { kind: 'Service', group: 'serving.knative.dev', path: inSpec },
  { kind: 'Pod', path: [] },
  { kind: 'Deployment', path: inSpec },
  { kind: 'ReplicaSet', path: inSpec },
  { kind: 'ReplicationController', path: inSpec },
  { kind: 'StatefulSet', path: inSpec },
  { kind: 'DaemonSet', path: inSpec },
  { kind: 'Job', path: inSpec },
  { kind: 'CronJob', path: ['spec', 'jobTemplate', 'spec', 'template'] },
  { kind: 'Rollout', group: 'argoproj.io', path: inSpec },
  { kind: 'CloneSet', group: 'apps.kruise.io', path: inSpec },
];

/** What an object is to an injector. */
export type Subject =
  | { readonly is: 'workload'; readonly workload: Workload }
  | {
      readonly is: 'service' | 'namespace' | 'other' | 'list';
      readonly kind: string;
      readonly name: string;
      /** Where the Pod template of this kind should be, and is not. */
      readonly missing?: readonly string[];
    };

/** An object with a Pod template in it; for a Pod, the object itself. */
export interface Workload {
  /** In lower case, as Linkerd writes it. */
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly object: JsonObject;
  readonly path: readonly string[];
  readonly metadata: JsonObject;
  readonly spec: JsonObject;
  readonly annotations: JsonObject;
  readonly labels: JsonObject;
  readonly containers: readonly JsonObject[];
  readonly initContainers: readonly JsonObject[];
  readonly volumes: readonly JsonObject[];
  /** What made the Pod, as far as the Pod can tell. */
  readonly owner: Owner | undefined;
}

export interface Owner {
  readonly kind: string;
  readonly name: string;
}

/** Looks at an object's kind, and finds the Pod template in it. */
export function examine(object: JsonObject, extra: readonly TemplateRow[] = []): Subject {
  const kind = textAt(object, 'kind') ?? '';
  const name = nameOf(objectAt(object, 'metadata'));
  if (isList(object)) return { is: 'list', kind, name };
  const group = groupOf(textAt(object, 'apiVersion') ?? '');
  const same = (row: TemplateRow) =>
    row.kind.toLowerCase() === kind.toLowerCase() && (row.group === undefined || row.group === group);
  const row = extra.find(same) ?? templates.find(same);
  const template = row && follow(object, row.path);
  if (row && isObject(template)) return { is: 'workload', workload: workloadOf(object, kind, name, row, template) };
  const lower = kind.toLowerCase();
  if (row !== undefined) return { is: 'other', kind, name, missing: row.path };
  return { is: lower === 'service' || lower === 'namespace' ? lower : 'other', kind, name };
}

/** `kind: List` exactly, as in Linkerd; a custom kind may well be called AllowList. */
export function isList(object: JsonObject): boolean {
  return textAt(object, 'kind') === 'List';
}

function workloadOf(object: JsonObject, kind: string, name: string, row: TemplateRow, template: JsonObject): Workload {
  const metadata = objectAt(template, 'metadata');
  const spec = objectAt(template, 'spec');
  return {
    kind: kind.toLowerCase(),
    name,
    namespace: textAt(objectAt(object, 'metadata'), 'namespace'),
    object,
    path: row.path,
    metadata,
    spec,
    annotations: objectAt(metadata, 'annotations'),
    labels: objectAt(metadata, 'labels'),
    containers: listAt(spec, 'containers').filter(isObject),
    initContainers: listAt(spec, 'initContainers').filter(isObject),
    volumes: listAt(spec, 'volumes').filter(isObject),
    owner: row.path.length > 0 ? { kind: kind.toLowerCase(), name } : ownerOf(metadata),
  };
}

/** The ServiceAccount that a Pod will run as. */
export function serviceAccountOf({ spec }: Workload): string {
  return textAt(spec, 'serviceAccountName') || textAt(spec, 'serviceAccount') || 'default';
}

/** A CronJob names its Jobs after itself and the minute they are for. */
const scheduled = /-\d{8,11}$/;

/** The name that stays the same from Pod to Pod, and from run to run. */
export function workloadName({ owner, name, path }: Workload): string {
  if (owner?.kind === 'job') return owner.name.replace(scheduled, '');
  return owner?.name ?? (path.length === 0 ? name.replace(/-$/, '') : name);
}

/** A Pod made by a controller has no name yet when it is admitted, only the start of one. */
function nameOf(metadata: JsonObject): string {
  return textAt(metadata, 'name') ?? textAt(metadata, 'generateName') ?? '';
}

/** The group of an `apiVersion`; the core group has no name. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.lastIndexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/**
 * Whose Pod it is, told from the Pod alone. The Deployment behind a ReplicaSet shows in the label `pod-template-hash`,
 * which ends the ReplicaSet's name; the CronJob behind a Job does not show, so a Job says nothing.
 */
function ownerOf(metadata: JsonObject): Owner | undefined {
  const references = listAt(metadata, 'ownerReferences');
  const only: Json | undefined = references.length === 1 ? references[0] : undefined;
  const kind = textAt(only, 'kind')?.toLowerCase();
  const name = textAt(only, 'name');
  if (kind === undefined || name === undefined) return undefined;
  const hash = entryOf(at(metadata, 'labels'), 'pod-template-hash');
  if (kind === 'replicaset' && hash && name.length > hash.length + 1 && name.endsWith(`-${hash}`)) {
    return { kind: 'deployment', name: name.slice(0, -hash.length - 1) };
  }
  return { kind, name };
}

/** What is wrong with a Pod template, and where. */
export interface Flaw {
  readonly path: readonly string[];
  readonly message: string;
}

/** Finds what makes a Pod template unusable, as a path and a sentence; the API server would refuse it too. */
export function flawOf(workload: Workload): Flaw | undefined {
  const { spec, metadata, path } = workload;
  const containers = at(spec, 'containers');
  if (containers === undefined || containers === null || (isArray(containers) && containers.length === 0))
    return { path: [...path, 'spec', 'containers'], message: 'a Pod needs at least one container' };
  return (
    listFlaw(spec, 'containers', 'a container', path) ??
    listFlaw(spec, 'initContainers', 'a container', path) ??
    listFlaw(spec, 'volumes', 'a volume', path) ??
    mapFlaw(metadata, 'annotations', path) ??
    mapFlaw(metadata, 'labels', path)
  );
}

function listFlaw(spec: JsonObject, key: string, what: string, root: readonly string[]): Flaw | undefined {
  const list = at(spec, key);
  const path = [...root, 'spec', key];
  if (list === undefined || list === null) return undefined;
  if (!isArray(list)) return { path, message: `${key} must be a list` };
  const odd = list.findIndex((one) => !isObject(one));
  return odd < 0 ? undefined : { path: [...path, String(odd)], message: `${what} must be a map` };
}

function mapFlaw(metadata: JsonObject, key: string, root: readonly string[]): Flaw | undefined {
  const map = at(metadata, key);
  if (map === undefined || map === null || isObject(map)) return undefined;
  return { path: [...root, 'metadata', key], message: `${key} must be a map` };
}
