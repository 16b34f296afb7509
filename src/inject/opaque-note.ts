import { entryOf, type JsonObject } from '../json.js';
import { type Addition, addMetadata, annotationOf, Collector, keptAsJson } from './additions.js';
import type { Request } from './inject.js';
import type { Mesh } from './mesh.js';
import * as names from './names.js';
import { opaquePortsOfPod, opaquePortsOfService } from './settings/ports.js';
import type { Subject } from './workload.js';

/**
 * The annotation that tells meshed clients not to wait for the first bytes on a port. Services carry it, and so do Pods
 * that are not injected, as in Linkerd: a client may talk to them all the same.
 */
export function opaquePortsNote(mesh: Mesh, request: Request, subject: Subject): readonly Addition[] {
  const { object, namespace, origin } = request;
  if (!origin.notesOpaquePorts || (subject.is !== 'workload' && subject.is !== 'service')) return [];
  const root = subject.is === 'workload' ? subject.workload.path : [];
  if (annotationOf(object, root, names.opaquePorts) !== undefined) return [];
  const ports = entryOf(namespace.annotations, names.opaquePorts) ?? defaultsFor(mesh, object, subject);
  if (ports === '') return [];
  const collector = new Collector(object, root, request.kept ?? keptAsJson);
  addMetadata(collector, [[names.opaquePorts, ports]], []);
  if (mesh.values.signet.record) collector.record();
  return collector.additions;
}

function defaultsFor(mesh: Mesh, object: JsonObject, subject: Subject): string {
  const defaults = mesh.values.proxy.opaquePorts;
  return subject.is === 'workload'
    ? opaquePortsOfPod(subject.workload, defaults)
    : opaquePortsOfService(object, defaults);
}
