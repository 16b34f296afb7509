import { at, entryOf, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.js';
import type { Namespace } from './decide/opt-in.js';
import { difference } from './difference.js';
import { inject } from './inject.js';
import type { Mesh } from './mesh.js';
import * as names from './names.js';
import { origins } from './origin.js';
import type { Plan } from './plan.js';
import { readStatus } from './status.js';
import { uninject, uninjected } from './uninject.js';
import { examine, type Owner, type Workload } from './workload.js';

/** What can be wrong with the identity of a Pod that runs; the text says it to a person. */
export const findings = {
  missing: 'without the identity that was asked for',
  refused: 'asking for an identity that it could not get today',
  stale_version: 'with another version of the proxy',
  stale_trust_roots: 'with other trust roots',
  stale_source: 'with an identity from another source',
  stale_values: 'injected with other values',
} as const;

export type FindingCode = keyof typeof findings;

/** One Pod with something to say about it. */
export interface Finding {
  readonly finding: FindingCode;
  /** What exactly, or the reason for which it was skipped. */
  readonly detail: string;
}

/** A Pod that has ended, or is about to, needs nothing any more. */
export function isOver(pod: JsonObject): boolean {
  const phase = textAt(objectAt(pod, 'status'), 'phase');
  return (
    phase === 'Succeeded' || phase === 'Failed' || at(objectAt(pod, 'metadata'), 'deletionTimestamp') !== undefined
  );
}

/** What is known beside a Pod and its namespace. */
export interface AuditContext {
  /** When the trust roots of the Pod's namespace were last changed, as Kubernetes writes times; empty when nobody knows. */
  readonly rootsChanged: string;
}

/** Compares a Pod as it runs with what it would be given if it were created now. */
export function auditPod(
  mesh: Mesh,
  pod: JsonObject,
  namespace: Namespace,
  context: AuditContext,
): Finding | undefined {
  const { removals, restored } = uninject(pod, [], { thorough: true });
  const bare = removals.length === 0 ? pod : uninjected(pod, { removals, restored, found: true, exact: true });
  const { outcome, plan, askedBy, message, reason } = inject(mesh, {
    object: bare,
    namespace,
    origin: origins.webhook,
  });
  if (outcome === 'refuse' && askedBy !== undefined) return { finding: 'refused', detail: `${message} [${reason}]` };
  const subject = examine(pod);
  if (outcome !== 'inject' || plan === undefined || subject.is !== 'workload') return undefined;
  if (!carries(subject.workload, plan)) return { finding: 'missing', detail: whyMissing(subject.workload) };
  return staleness(mesh, subject.workload, plan) ?? oldRoots(pod, plan, context);
}

/** Whether a Pod shows an identity, of today's values or of others: by its containers and volumes, not by annotations. */
export function carries(workload: Workload, { parts }: Plan): boolean {
  const { containers, initContainers, volumes } = workload;
  const all = [...initContainers, ...containers];
  const has = (list: readonly JsonObject[], name: Json | undefined) => list.some((one) => at(one, 'name') === name);
  if (parts.proxy !== undefined && has(all, at(parts.proxy, 'name'))) return true;
  if (parts.proxy === undefined && parts.volumes.some((volume) => has(volumes, at(volume, 'name')))) return true;
  const recorded = recordOf(workload);
  return recorded.containers.some((name) => has(all, name)) || recorded.volumes.some((name) => has(volumes, name));
}

/** What the record says was added; it only helps to find what is there to see. */
function recordOf({ annotations }: Workload): {
  readonly containers: readonly string[];
  readonly volumes: readonly string[];
} {
  const added = readStatus(entryOf(annotations, names.statusKey))?.added ?? {};
  return {
    containers: [...(added['/spec/initContainers'] ?? []), ...(added['/spec/containers'] ?? [])],
    volumes: added['/spec/volumes'] ?? [],
  };
}

function whyMissing({ annotations }: Workload): string {
  const skipped = entryOf(annotations, names.skippedKey);
  return skipped === undefined
    ? 'created before it opted in, or while the webhook was away'
    : `skipped at the time: ${skipped}`;
}

function staleness(mesh: Mesh, workload: Workload, plan: Plan): Finding | undefined {
  const { annotations, labels } = workload;
  const { choice, values } = plan.settings;
  const version = values.proxy.image.version || values.linkerdVersion;
  const running = entryOf(annotations, names.proxyVersion);
  if (running !== undefined && running !== version)
    return { finding: 'stale_version', detail: `${running}, now ${version}` };
  const roots = entryOf(annotations, names.trustRootChecksum);
  if (mesh.trustRootsChecksum !== '' && roots !== undefined && roots !== mesh.trustRootsChecksum)
    return { finding: 'stale_trust_roots', detail: `checksum ${roots.slice(0, 12)}…` };
  // Somebody else's injection follows somebody else's values: only what every mesh has in common is compared.
  if (entryOf(annotations, names.createdBy)?.startsWith('signet') !== true) return undefined;
  const wanted = choice.profile?.name ?? choice.source;
  const given = entryOf(labels, names.identityKey) ?? 'token';
  if (given !== wanted && !(given === 'none' && wanted === 'token'))
    return { finding: 'stale_source', detail: `${given}, now ${wanted}` };
  const detail = partsDifference(workload, plan);
  return detail === undefined ? undefined : { finding: 'stale_values', detail };
}

function partsDifference(workload: Workload, { parts, settings }: Plan): string | undefined {
  const isNative = settings.values.proxy.nativeSidecar;
  const first = [parts.init, ...(isNative ? [parts.proxy] : [])];
  const later = [parts.debug, ...(isNative ? [] : [parts.proxy])];
  const volumes = [parts.xtables, ...parts.volumes];
  const now = new Set([...first, ...later, ...volumes].map((one) => textAt(one, 'name')));
  const recorded = recordOf(workload);
  const left = [...recorded.containers, ...recorded.volumes].find((name) => !now.has(name));
  return (
    named(workload.initContainers, first) ??
    named(workload.containers, later) ??
    named(workload.volumes, volumes) ??
    (left === undefined ? undefined : `${left} is not added any more`)
  );
}

/**
 * The proxy takes its trust anchors from the ConfigMap when it starts, and a volume follows without: only the variable can be
 * old. A container that was started again has read it again.
 */
function oldRoots(pod: JsonObject, { parts }: Plan, { rootsChanged }: AuditContext): Finding | undefined {
  const name = textAt(parts.proxy, 'name');
  const reads = listAt(parts.proxy, 'env').some(
    (one) => at(objectAt(one, 'valueFrom'), 'configMapKeyRef') !== undefined,
  );
  if (rootsChanged === '' || !reads) return undefined;
  const status = objectAt(pod, 'status');
  const own = [...listAt(status, 'initContainerStatuses'), ...listAt(status, 'containerStatuses')].find(
    (one) => at(one, 'name') === name,
  );
  const running = textAt(objectAt(objectAt(own, 'state'), 'running'), 'startedAt');
  const started = running ?? textAt(objectAt(pod, 'metadata'), 'creationTimestamp') ?? '';
  return started !== '' && started < rootsChanged
    ? { finding: 'stale_trust_roots', detail: `started ${started}, the roots changed ${rootsChanged}` }
    : undefined;
}

/** The first difference between parts and what bears their names, or nothing. */
function named(found: readonly JsonObject[], parts: readonly (JsonObject | undefined)[]): string | undefined {
  for (const part of parts) {
    if (part === undefined) continue;
    const name = textAt(part, 'name') ?? '';
    const own = found.find((one) => at(one, 'name') === name);
    const place = own === undefined ? '' : difference(own, part);
    if (place !== undefined) return `${name}${place === '' ? ' is not there' : ` at ${place}`}`;
    const limits = objectAt(own, 'resources');
    if (at(part, 'resources') === undefined && Object.keys(limits).length > 0) return `${name} at /resources`;
  }
  return undefined;
}

/** How the Pods of an owner are made anew: a command or, where none would do, what to do as a comment. */
export function renewal(workload: Workload, namespace: string, finding: FindingCode): string {
  const owner = controllerOf(workload);
  const where = namespace === '' ? '' : ` -n ${namespace}`;
  if (finding === 'refused') return `# ${ownerText(workload)}${where}: correct what is refused first`;
  switch (owner?.kind) {
    case 'deployment':
    case 'daemonset':
    case 'statefulset':
      return `kubectl rollout restart ${owner.kind}/${owner.name}${where}`;
    case 'job':
      // A Job cannot be replaced by itself: its selector and labels are made by the API server.
      return `# ${ownerText(workload)}${where}: a Job is not restarted; its next run gets what it would get today`;
    case undefined:
      return `kubectl get pod/${workload.name}${where} -o yaml | signet uninject - | kubectl replace --force -f -`;
    default:
      // Its controller makes another one at once.
      return `kubectl delete pod/${workload.name}${where}`;
  }
}

/** Whose Pod it is, as a person would name it. */
export function ownerText(workload: Workload): string {
  const owner = controllerOf(workload);
  return owner === undefined ? `pod/${workload.name}` : `${owner.kind}/${owner.name}`;
}

/** Of several owners, the one that makes the Pods. */
function controllerOf({ owner, metadata }: Workload): Owner | undefined {
  if (owner !== undefined) return owner;
  const controller = listAt(metadata, 'ownerReferences').find((one) => at(one, 'controller') === true);
  const [kind, name] = [textAt(controller, 'kind'), textAt(controller, 'name')];
  return kind === undefined || name === undefined ? undefined : { kind: kind.toLowerCase(), name };
}

/** A Pod of a list, whose items do not always say what they are; nothing when it is none. */
export function podOf(object: JsonObject): Workload | undefined {
  const subject = examine({ kind: 'Pod', ...object });
  return subject.is === 'workload' && listAt(subject.workload.spec, 'containers').length > 0
    ? subject.workload
    : undefined;
}
