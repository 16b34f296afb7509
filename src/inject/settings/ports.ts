import { at, type Json, type JsonObject, listAt, objectAt, textAt } from '../../json.js';
import * as names from '../names.js';
import type { Workload } from '../workload.js';

/** Init containers first, then containers, as Linkerd counts them. */
export function allContainers(workload: Workload): readonly JsonObject[] {
  return [...workload.initContainers, ...workload.containers];
}

interface DeclaredPort {
  readonly number: number;
  readonly name: string | undefined;
}

/** Every declared container port, in the order of the Pod, repeated where the Pod repeats it. */
function declaredPorts(workload: Workload): readonly DeclaredPort[] {
  const ports: DeclaredPort[] = [];
  for (const container of allContainers(workload)) {
    for (const port of listAt(container, 'ports')) {
      const number = at(port, 'containerPort');
      if (typeof number === 'number') ports.push({ number, name: textAt(port, 'name') });
    }
  }
  return ports;
}

/**
 * The ports on which the application listens: declared ones, and those of readiness and liveness probes by HTTP with a
 * number. Sorted as text (`10000,443,80`), because Linkerd sorts them so.
 */
export function inboundPorts(workload: Workload): string {
  const ports = new Set<string>();
  for (const { number } of declaredPorts(workload)) ports.add(String(number));
  for (const container of allContainers(workload)) {
    for (const probe of ['readinessProbe', 'livenessProbe']) {
      const port = at(at(at(container, probe), 'httpGet'), 'port');
      if (typeof port === 'number') ports.add(String(port));
    }
  }
  return [...ports].sort().join(',');
}

/** Reads a list of opaque ports: names of container ports, numbers and ranges; what is none of these is left out. */
export function readOpaquePorts(
  text: string,
  workload: Workload,
): { readonly ports: string; readonly dropped: readonly string[] } {
  const byName = new Map<string, number>();
  for (const { number, name } of declaredPorts(workload)) if (name) byName.set(name, number);
  const ports: string[] = [];
  const dropped: string[] = [];
  for (const entry of text
    .replace(/,$/, '')
    .split(',')
    .map((one) => one.trim())) {
    const named = byName.get(entry);
    const port = named === undefined ? portOrRange(entry) : String(named);
    if (port !== undefined) ports.push(port);
    else if (text.trim() !== '') dropped.push(entry);
  }
  return { ports: ports.join(','), dropped };
}

/** `n` or `a-b`, written the one canonical way. */
function portOrRange(entry: string): string | undefined {
  const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(entry);
  if (match === null) return undefined;
  const low = Number(match[1]);
  const high = Number(match[2] ?? match[1]);
  if (high > 65535 || low > high) return undefined;
  return low === high ? String(low) : `${low}-${high}`;
}

let split = { list: '', ports: new Set<string>() };

/** The default list, taken apart once: it is the same for every Pod until the values change. */
function portsIn(list: string): ReadonlySet<string> {
  if (split.list !== list) split = { list, ports: new Set(list.split(',')) };
  return split.ports;
}

/** Which of the Pod's ports are opaque by default; the default list is compared as text, so a range in it never matches. */
export function opaquePortsOfPod(workload: Workload, defaults: string): string {
  const listed = portsIn(defaults);
  let found = '';
  for (const { number } of declaredPorts(workload)) {
    const port = String(number);
    if (listed.has(port)) found += found === '' ? port : `,${port}`;
  }
  return found;
}

/** Which ports of a Service are opaque by default: those whose target is, if it is a number; those without a target by themselves. */
export function opaquePortsOfService(service: JsonObject, defaults: string): string {
  const listed = portsIn(defaults);
  const isOpaque = (port: Json): boolean => {
    const target = at(port, 'targetPort');
    const decisive = target === undefined || target === null || target === 0 ? at(port, 'port') : target;
    return typeof decisive === 'number' && listed.has(String(decisive));
  };
  return listAt(objectAt(service, 'spec'), 'ports')
    .filter(isOpaque)
    .map((port) => String(at(port, 'port')))
    .join(',');
}

/** The mount of the default ServiceAccount token in the first container, which proxy and init container share. */
export function serviceAccountMount(workload: Workload): JsonObject | undefined {
  const mount = listAt(workload.containers[0], 'volumeMounts').find(
    (one) => at(one, 'mountPath') === names.paths.serviceAccount,
  );
  const name = textAt(mount, 'name');
  if (name === undefined) return undefined;
  return { name, mountPath: names.paths.serviceAccount, readOnly: at(mount, 'readOnly') === true };
}
