import { entryOf, type JsonObject, objectAt } from '../json.js';
import { type Addition, addMetadata, annotationOf, Collector, keptAsJson } from './additions.js';
import type { Decision } from './decide/decide.js';
import { askedBy, type OptIn } from './decide/opt-in.js';
import { isAudited } from './decide/rules.js';
import type { Request } from './inject.js';
import type { Mesh } from './mesh.js';
import * as names from './names.js';
import { opaquePortsOfPod, opaquePortsOfService } from './settings/ports.js';
import type { Subject, Workload } from './workload.js';

/** Reasons for which a Pod does not even get a note: the API server would not have sent it, or nothing may be changed. */
const untouched: readonly string[] = [
  'malformed_pod',
  'namespace_excluded',
  'admission_webhooks_disabled',
  'control_plane_component',
  'mirror_pod',
  'audit_mode',
];

/** What a skipped Pod gets: its opaque ports, and, if it asked for injection, the reason why it got none. */
export function notesOnSkipped(
  mesh: Mesh,
  request: Request,
  workload: Workload,
  decision: Decision,
  optIn: OptIn,
): readonly Addition[] {
  if (untouched.includes(decision.reason) || isAudited(request)) return [];
  const notes = opaquePorts(mesh, request, { is: 'workload', workload });
  const wanted = mesh.values.signet.noteSkipped && request.origin.notesSkips && askedBy(optIn) !== undefined;
  const isThere = decision.reason === 'sidecar_already_exists' || decision.reason === 'identity_already_there';
  if (wanted && !isThere) notes.push([names.skippedKey, decision.reason]);
  return annotate(mesh, request, workload.path, notes);
}

/** What a Service gets: its opaque ports. */
export function notesOnService(mesh: Mesh, request: Request, subject: Subject): readonly Addition[] {
  return isNeverTouched(mesh, request) ? [] : annotate(mesh, request, [], opaquePorts(mesh, request, subject));
}

/** What holds for Pods holds for Services: some namespaces and the control plane are nobody's business. */
function isNeverTouched({ values }: Mesh, { object, namespace, origin }: Request): boolean {
  const labels = objectAt(objectAt(object, 'metadata'), 'labels');
  return (
    origin.honoursExclusions &&
    (values.signet.excludedNamespaces.includes(namespace.name) ||
      entryOf(namespace.labels, names.admissionWebhooks) === 'disabled' ||
      entryOf(namespace.annotations, names.modeKey) === 'audit' ||
      [names.controlPlaneComponent, names.cniResource].some((key) => Object.hasOwn(labels, key)))
  );
}

/** `linkerd inject` opts in every Namespace it meets; one that has said something already is left as it is. */
export function notesOnNamespace(mesh: Mesh, request: Request): readonly Addition[] {
  const said = entryOf(objectAt(objectAt(request.object, 'metadata'), 'annotations'), names.injectKey);
  return annotate(
    mesh,
    request,
    [],
    request.origin.optsNamespacesIn && said === undefined ? [[names.injectKey, 'enabled']] : [],
  );
}

/**
 * The annotation that tells meshed clients not to wait for the first bytes on a port. Services carry it, and so do Pods
 * that are not injected, as in Linkerd: a client may talk to them all the same.
 */
function opaquePorts(mesh: Mesh, { object, namespace, origin }: Request, subject: Subject): [string, string][] {
  const root = subject.is === 'workload' ? subject.workload.path : [];
  if (!origin.notesOpaquePorts || annotationOf(object, root, names.opaquePorts) !== undefined) return [];
  const inherited = entryOf(namespace.annotations, names.opaquePorts);
  if (inherited !== undefined) return [[names.opaquePorts, inherited]];
  const ports = defaultsFor(mesh, object, subject);
  return ports === '' ? [] : [[names.opaquePorts, ports]];
}

function defaultsFor(mesh: Mesh, object: JsonObject, subject: Subject): string {
  const defaults = mesh.values.proxy.opaquePorts;
  return subject.is === 'workload'
    ? opaquePortsOfPod(subject.workload, defaults)
    : opaquePortsOfService(object, defaults);
}

function annotate(
  mesh: Mesh,
  { object, kept }: Request,
  root: readonly string[],
  notes: readonly (readonly [string, string])[],
): readonly Addition[] {
  if (notes.length === 0) return [];
  const collector = new Collector(object, root, kept ?? keptAsJson);
  addMetadata(collector, notes, []);
  if (mesh.values.signet.record) collector.record();
  return collector.additions;
}
