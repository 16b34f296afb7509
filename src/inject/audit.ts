import { at, entryOf, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.js';
import type { Namespace } from './decide/opt-in.js';
import { difference } from './difference.js';
import { inject } from './inject.js';
import type { Mesh } from './mesh.js';
import * as names from './names.js';
import { origins } from './origin.js';
import type { Plan } from './plan.js';
import { uninject, uninjected } from './uninject.js';
import { examine, type Workload } from './workload.js';

/** What can be wrong with the identity of a Pod that runs; the text says it to a person. */
export const findings = {
  missing: 'asks for an identity and has none',
  refused: 'asks for an identity that it could not get',
  stale_version: 'runs another version of the proxy',
  stale_trust_roots: 'was given other trust roots',
  stale_source: 'has its identity from another source',
  stale_values: 'was injected with other values',
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

/** Compares a Pod as it runs with what it would be given if it were created now. */
export function auditPod(mesh: Mesh, pod: JsonObject, namespace: Namespace): Finding | undefined {
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
  return staleness(mesh, subject.workload, plan);
}

/** The proxy by its name or, with identity alone, the volumes: what containers show, not what annotations say. */
function carries({ containers, initContainers, volumes }: Workload, { parts }: Plan): boolean {
  const has = (list: readonly JsonObject[], name: Json | undefined) => list.some((one) => at(one, 'name') === name);
  if (parts.proxy !== undefined) return has([...initContainers, ...containers], at(parts.proxy, 'name'));
  return parts.volumes.some((volume) => has(volumes, at(volume, 'name')));
}

function whyMissing({ annotations }: Workload): string {
  const skipped = entryOf(annotations, names.skippedKey);
  return skipped === undefined
    ? 'created before it opted in, or while the webhook was away'
    : `skipped at the time: ${skipped}`;
}

function staleness(mesh: Mesh, workload: Workload, { parts, settings }: Plan): Finding | undefined {
  const { annotations, labels, containers, initContainers, volumes } = workload;
  const { choice, values } = settings;
  const version = values.proxy.image.version || values.linkerdVersion;
  const running = entryOf(annotations, names.proxyVersion);
  if (running !== undefined && running !== version)
    return { finding: 'stale_version', detail: `${running}, now ${version}` };
  const roots = entryOf(annotations, names.trustRootChecksum);
  if (mesh.trustRootsChecksum !== '' && roots !== undefined && roots !== mesh.trustRootsChecksum)
    return { finding: 'stale_trust_roots', detail: `checksum ${roots.slice(0, 12)}…` };
  const wanted = choice.profile?.name ?? choice.source;
  const given = entryOf(labels, names.identityKey) ?? 'token';
  // Somebody else's injection follows somebody else's values: only what every mesh has in common is compared.
  if (entryOf(annotations, names.createdBy)?.startsWith('signet') !== true) return undefined;
  if (given !== wanted && !(given === 'token' && choice.source === 'token' && choice.profile === undefined))
    return { finding: 'stale_source', detail: `${given}, now ${wanted}` };
  const all = [...initContainers, ...containers];
  const difference =
    named(all, [parts.init, parts.debug, parts.proxy]) ?? named(volumes, [parts.xtables, ...parts.volumes]);
  return difference === undefined ? undefined : { finding: 'stale_values', detail: difference };
}

/** The first difference between parts and what bears their names, or nothing. */
function named(found: readonly JsonObject[], parts: readonly (JsonObject | undefined)[]): string | undefined {
  for (const part of parts) {
    if (part === undefined) continue;
    const name = textAt(part, 'name') ?? '';
    const own = found.find((one) => at(one, 'name') === name);
    const place = own === undefined ? '' : difference(own, part);
    if (place !== undefined) return `${name}${place === '' ? ' is not there' : ` at ${place}`}`;
  }
  return undefined;
}

/** How the Pods of an owner are made anew. */
export function renewal({ owner, name }: Workload, namespace: string): string {
  const where = namespace === '' ? '' : ` -n ${namespace}`;
  switch (owner?.kind) {
    case 'deployment':
    case 'daemonset':
    case 'statefulset':
      return `kubectl rollout restart ${owner.kind}/${owner.name}${where}`;
    case 'job':
      return `kubectl get job/${owner.name}${where} -o yaml | kubectl replace --force -f -`;
    case undefined:
      return `kubectl get pod/${name}${where} -o yaml | signet uninject - | kubectl replace --force -f -`;
    default:
      // Its controller makes another one at once.
      return `kubectl delete pod/${name}${where}`;
  }
}

/** Whose Pod it is, as a person would name it. */
export function ownerText({ owner, name }: Workload): string {
  return owner === undefined ? `pod/${name}` : `${owner.kind}/${owner.name}`;
}

/** The names of the containers of a Pod; for whoever lists Pods. */
export function podOf(object: JsonObject): Workload | undefined {
  const subject = examine({ kind: 'Pod', ...object });
  return subject.is === 'workload' && listAt(subject.workload.spec, 'containers').length > 0
    ? subject.workload
    : undefined;
}
