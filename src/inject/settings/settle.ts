import { entryOf, type JsonObject, objectAt } from '../../json.js';
import { type Change, change, type Values } from '../../values/keys.js';
import type { Mesh } from '../mesh.js';
import * as names from '../names.js';
import type { Origin } from '../origin.js';
import type { Workload } from '../workload.js';
import { type AnnotationRow, annotations, type Context, inheritedKeys } from './annotations.js';
import { envVars, overlayEnv } from './env-vars.js';
import type { Invalid, Parsed } from './parsers.js';
import { opaquePortsOfPod } from './ports.js';

/** An annotation that could not be followed. */
export interface Problem {
  readonly annotation: string;
  readonly on: 'workload' | 'namespace';
  readonly value: string;
  readonly expected: string;
  readonly cause: 'invalid' | 'denied';
  readonly effect: 'ignored' | 'refused';
}

/** A setting that an annotation or a label of this Pod or its namespace has changed. */
export interface Applied {
  readonly change: Change;
  readonly annotation: string;
  readonly on: 'workload' | 'namespace';
}

/** The values as they are for one Pod. */
export interface Settings {
  readonly values: Values;
  readonly applied: readonly Applied[];
  readonly problems: readonly Problem[];
  /** Annotations that the Pod gets from its namespace or from its ports. */
  readonly added: ReadonlyMap<string, string>;
}

interface Task {
  readonly mesh: Mesh;
  readonly workload: Workload;
  readonly namespaceAnnotations: JsonObject;
  readonly origin: Origin;
}

/** Values, then the namespace's annotations, then the Pod's: what holds for this one Pod, and where each part comes from. */
export function settle(
  mesh: Mesh,
  workload: Workload,
  namespaceAnnotations: JsonObject,
  origin: Origin,
  mode: string,
): Settings {
  const task = {
    mesh,
    workload,
    namespaceAnnotations: origin.inheritsFromNamespace ? namespaceAnnotations : {},
    origin,
  };
  const added = inherit(task);
  const applied: Applied[] = [];
  const problems: Problem[] = [];
  if (origin.readsIngress && mode === 'ingress') {
    const on = entryOf(workload.annotations, names.injectKey) === undefined ? 'namespace' : 'workload';
    applied.push({ change: change('proxy.isIngress', true), annotation: names.injectKey, on });
  }
  for (const row of rowsFor(workload.annotations, added)) readRow(task, row, added, applied, problems);
  readTraceLabels(task, applied);
  readAdditionalEnv(task, applied, problems);
  return { values: mesh.changed(applied.map((one) => one.change)), applied, problems, added };
}

const rowOf: ReadonlyMap<string, AnnotationRow> = new Map(annotations.map((row) => [row.key, row]));
const position: ReadonlyMap<AnnotationRow, number> = new Map(annotations.map((row, index) => [row, index]));
const isInherited: ReadonlySet<string> = new Set(inheritedKeys);

/** The rows that there is something to read for, in the order of the table; most Pods have two or three annotations. */
function rowsFor(own: JsonObject, added: ReadonlyMap<string, string>): readonly AnnotationRow[] {
  const rows = [...Object.keys(own), ...added.keys()].map((key) => rowOf.get(key)).filter((row) => row !== undefined);
  return rows.sort((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0));
}

/** What the Pod gets from its namespace: every inherited key that it does not carry itself, an empty one included. */
function inherit({ mesh, workload, namespaceAnnotations, origin }: Task): Map<string, string> {
  const added = new Map<string, string>();
  for (const key of Object.keys(namespaceAnnotations)) {
    const value = isInherited.has(key) ? entryOf(namespaceAnnotations, key) : undefined;
    if (value !== undefined && entryOf(workload.annotations, key) === undefined) added.set(key, value);
  }
  if (
    origin.notesOpaquePorts &&
    !added.has(names.opaquePorts) &&
    entryOf(workload.annotations, names.opaquePorts) === undefined
  ) {
    const ports = opaquePortsOfPod(workload, mesh.values.proxy.opaquePorts);
    if (ports !== '') added.set(names.opaquePorts, ports);
  }
  return added;
}

function readRow(
  task: Task,
  row: AnnotationRow,
  added: ReadonlyMap<string, string>,
  applied: Applied[],
  problems: Problem[],
): void {
  const { mesh, workload } = task;
  const present = (key: string) => added.has(key) || entryOf(workload.annotations, key) !== undefined;
  if (row.yieldsTo.some(present)) return;
  const source = find(task, row.key, row.inherited, added, problems);
  if (source === undefined) return;
  const context: Context = { values: mesh.values, workload };
  const parsed = row.read(source.text, context);
  if (parsed.ok) {
    for (const one of parsed.value) applied.push({ change: one, annotation: row.key, on: source.on });
  }
  const problem = problemOf(mesh.values, row, source, parsed);
  if (problem !== undefined) problems.push(problem);
}

interface Source {
  readonly text: string;
  readonly on: 'workload' | 'namespace';
}

/** The text of an annotation and where it stands; what the administrator denies a workload counts as not there. */
function find(
  task: Task,
  key: string,
  inherited: boolean,
  added: ReadonlyMap<string, string>,
  problems: Problem[],
): Source | undefined {
  const { mesh, workload, namespaceAnnotations } = task;
  const own = entryOf(workload.annotations, key);
  if (own !== undefined) {
    const pattern = mesh.values.signet.overrides.deny.find((one) => matches(one, key));
    if (pattern === undefined) return { text: own, on: 'workload' };
    const effect = mesh.values.signet.onInvalidAnnotation === 'deny' ? 'refused' : 'ignored';
    problems.push({
      annotation: key,
      on: 'workload',
      value: own,
      expected: `no such annotation, because signet.overrides.deny has ${pattern}`,
      cause: 'denied',
      effect,
    });
    const fallback = inherited ? entryOf(namespaceAnnotations, key) : undefined;
    return fallback === undefined ? undefined : { text: fallback, on: 'namespace' };
  }
  const text = added.get(key);
  if (text === undefined) return undefined;
  return { text, on: entryOf(namespaceAnnotations, key) === undefined ? 'workload' : 'namespace' };
}

function matches(pattern: string, key: string): boolean {
  return pattern.endsWith('*') ? key.startsWith(pattern.slice(0, -1)) : key === pattern;
}

function problemOf(values: Values, row: AnnotationRow, source: Source, parsed: Parsed<unknown>): Problem | undefined {
  if (parsed.ok && parsed.unread === undefined) return undefined;
  const effect = effectOf(values, parsed.ok ? undefined : parsed);
  const common = { annotation: row.key, on: source.on, cause: 'invalid', effect } as const;
  return parsed.ok
    ? { ...common, value: parsed.unread ?? '', expected: row.expected }
    : { ...common, value: source.text, expected: parsed.expected };
}

function effectOf(values: Values, found: Invalid | undefined): Problem['effect'] {
  const policy = values.signet.onInvalidAnnotation;
  return policy === 'deny' || (policy === 'linkerd' && found?.fatal === true) ? 'refused' : 'ignored';
}

const instanceLabel = 'app.kubernetes.io/instance';
const nameLabel = 'app.kubernetes.io/name';

/** Spans are labelled with the workload's own name, unless its annotations say otherwise. */
function readTraceLabels({ mesh, workload }: Task, applied: Applied[]): void {
  if (!mesh.values.proxy.tracing.enabled) return;
  const labels: Record<string, string> = {};
  const label = entryOf(workload.labels, instanceLabel) ? instanceLabel : nameLabel;
  const service = entryOf(workload.labels, label);
  if (service) labels['service.name'] = service;
  let last = label;
  for (const key of Object.keys(workload.annotations)) {
    const value = entryOf(workload.annotations, key);
    if (!key.startsWith(names.traceAttributePrefix) || value === undefined) continue;
    labels[key.slice(names.traceAttributePrefix.length)] = value;
    last = key;
  }
  if (Object.keys(labels).length === 0) return;
  applied.push({
    change: change('proxy.tracing.labels', { ...mesh.values.proxy.tracing.labels, ...labels }),
    annotation: last,
    on: 'workload',
  });
}

/** Three layers by name: the values, the namespace's annotation, the workload's. */
function readAdditionalEnv(task: Task, applied: Applied[], problems: Problem[]): void {
  const { mesh, workload, namespaceAnnotations, origin } = task;
  const holder = origin.additionalEnvOn === 'template' ? workload.annotations : objectAnnotations(workload);
  let variables = mesh.values.proxy.additionalEnv;
  let last: Source | undefined;
  const layers = [
    { on: 'namespace', text: entryOf(namespaceAnnotations, names.additionalEnv) },
    { on: 'workload', text: entryOf(holder, names.additionalEnv) },
  ] as const;
  for (const { on, text } of layers) {
    if (text === undefined) continue;
    const pattern =
      on === 'workload'
        ? mesh.values.signet.overrides.deny.find((one) => matches(one, names.additionalEnv))
        : undefined;
    const parsed = envVars(text);
    const expected =
      pattern !== undefined
        ? `no such annotation, because signet.overrides.deny has ${pattern}`
        : parsed.ok
          ? undefined
          : parsed.expected;
    if (expected !== undefined) {
      const cause = pattern === undefined ? 'invalid' : 'denied';
      problems.push({
        annotation: names.additionalEnv,
        on,
        value: text,
        expected,
        cause,
        effect: effectOf(mesh.values, undefined),
      });
    } else if (parsed.ok && parsed.value.length > 0) {
      variables = overlayEnv(variables, parsed.value);
      last = { on, text };
    }
  }
  if (last !== undefined)
    applied.push({ change: change('proxy.additionalEnv', variables), annotation: names.additionalEnv, on: last.on });
}

function objectAnnotations({ object }: Workload): JsonObject {
  return objectAt(objectAt(object, 'metadata'), 'annotations');
}
