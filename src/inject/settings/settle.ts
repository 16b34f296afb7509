import { entryOf, type JsonObject, objectAt, textAt } from '../../json.js';
import { type Change, change, type Values } from '../../values/keys.js';
import { asks } from '../decide/opt-in.js';
import { type Choice, choose, wordsFor } from '../identity/choose.js';
import type { Mesh } from '../mesh.js';
import * as names from '../names.js';
import type { Origin } from '../origin.js';
import type { Workload } from '../workload.js';
import { type AnnotationRow, annotations, inheritedKeys } from './annotations.js';
import { envVars, overlayEnv } from './env-vars.js';
import { opaquePortsOfPod } from './ports.js';
import { denialOf, misreadingOf, type Problem, refusedProblem, type Source, slipOf } from './problems.js';

/** A setting that an annotation or a label of this Pod or its namespace has changed. */
export interface Applied {
  readonly change: Change;
  readonly annotation: string;
  readonly on: 'workload' | 'namespace' | 'profile';
}

/** The values as they are for one Pod. */
export interface Settings {
  readonly values: Values;
  readonly applied: readonly Applied[];
  readonly problems: readonly Problem[];
  /** Where the Pod's identity comes from. */
  readonly choice: Choice;
  /** The author's containers that the Pod names for the Workload API, if it names any. */
  readonly containers: ReadonlySet<string> | undefined;
  /** Annotations that the Pod gets from its namespace or from its ports. */
  readonly added: ReadonlyMap<string, string>;
}

/** Values, then the namespace's annotations, then the Pod's: what holds for this one Pod, and where each part comes from. */
export function settle(mesh: Mesh, workload: Workload, namespace: JsonObject, origin: Origin, mode: string): Settings {
  const settling = new Settling(mesh, workload, origin.inheritsFromNamespace ? namespace : {}, origin);
  if (origin.readsIngress && mode === 'ingress') settling.ingress();
  settling.rows();
  settling.traceLabels();
  settling.additionalEnv();
  settling.identity();
  settling.namedContainers();
  return settling.settings();
}

const rowOf: ReadonlyMap<string, AnnotationRow> = new Map(annotations.map((row) => [row.key, row]));
const position: ReadonlyMap<AnnotationRow, number> = new Map(annotations.map((row, index) => [row, index]));
/** The prefixes under which a key that nobody knows is more likely a mistake than somebody else's. */
const isConfiguration =
  /^(config\.(alpha\.|beta\.)?)?linkerd\.io\/inj|^config\.(alpha\.|beta\.)?linkerd\.io\/|^signet\.dev\/|kuma\.io\/spire/;
const isKnown: ReadonlySet<string> = new Set([
  ...rowOf.keys(),
  names.injectKey,
  names.additionalEnv,
  names.injectIdentityKey,
  names.identityKey,
  names.containersKey,
  names.statusKey,
  names.skippedKey,
  names.modeKey,
  names.trustRootsKey,
]);
const isInherited: ReadonlySet<string> = new Set(inheritedKeys);
/** Choices of a Pod alone. */
const ofPods: ReadonlySet<string> = new Set([
  names.identityKey,
  names.containersKey,
  names.injectIdentityKey,
  names.kumaDesign,
  names.kumaShipped,
]);

class Settling {
  readonly #mesh: Mesh;
  readonly #workload: Workload;
  readonly #namespace: JsonObject;
  readonly #origin: Origin;
  readonly #added: ReadonlyMap<string, string>;
  readonly #applied: Applied[] = [];
  readonly #problems: Problem[] = [];
  #choice: Choice;
  #containers: ReadonlySet<string> | undefined;

  constructor(mesh: Mesh, workload: Workload, namespace: JsonObject, origin: Origin) {
    this.#mesh = mesh;
    this.#workload = workload;
    this.#namespace = namespace;
    this.#origin = origin;
    this.#added = this.#inherit();
    this.#choice = choose(mesh.values, workload.labels, undefined);
  }

  settings(): Settings {
    const values = this.#mesh.changed(this.#applied.map((one) => one.change));
    return {
      values,
      applied: this.#applied,
      problems: this.#problems,
      added: this.#added,
      choice: this.#choice,
      containers: this.#containers,
    };
  }

  ingress(): void {
    const on = this.#own(names.injectKey) === undefined ? 'namespace' : 'workload';
    this.#applied.push({ change: change('proxy.isIngress', true), annotation: names.injectKey, on });
  }

  /** Reads the rows that the Pod has something for, in the order of the table; most Pods have two or three. */
  rows(): void {
    const keys = [...Object.keys(this.#workload.annotations), ...this.#added.keys()];
    const rows = keys.map((key) => rowOf.get(key)).filter((row) => row !== undefined);
    for (const key of keys) if (isConfiguration.test(key) && !isKnown.has(key)) this.#suspect(key);
    for (const key of Object.keys(this.#namespace)) this.#suspectOnNamespace(key);
    for (const row of rows.sort((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0))) this.#read(row);
  }

  /** Spans are labelled with the workload's own name, unless its annotations say otherwise. */
  traceLabels(): void {
    const { tracing } = this.#mesh.values.proxy;
    if (!tracing.enabled) return;
    const { labels, annotations: own } = this.#workload;
    const nameLabel = ['app.kubernetes.io/instance', 'app.kubernetes.io/name'].find((key) => entryOf(labels, key));
    const found: Record<string, string> =
      nameLabel === undefined ? {} : { 'service.name': entryOf(labels, nameLabel) ?? '' };
    const attributes = Object.keys(own).filter(
      (key) =>
        key.startsWith(names.traceAttributePrefix) &&
        !this.#isDenied({ annotation: key, text: entryOf(own, key) ?? '', on: 'workload' }),
    );
    for (const key of attributes) found[key.slice(names.traceAttributePrefix.length)] = entryOf(own, key) ?? '';
    const annotation = attributes.at(-1) ?? nameLabel;
    if (annotation === undefined) return;
    this.#applied.push({
      change: change('proxy.tracing.labels', { ...tracing.labels, ...found }),
      annotation,
      on: 'workload',
    });
  }

  /** Three layers by name: the values, the namespace's annotation, the workload's. */
  additionalEnv(): void {
    const annotation = names.additionalEnv;
    const { object, annotations: own } = this.#workload;
    const holder =
      this.#origin.additionalEnvOn === 'template' ? own : objectAt(objectAt(object, 'metadata'), 'annotations');
    const layers = [
      { on: 'namespace', text: entryOf(this.#namespace, annotation) },
      { on: 'workload', text: entryOf(holder, annotation) },
    ] as const;
    let variables = this.#mesh.values.proxy.additionalEnv;
    for (const { on, text } of layers) {
      if (text === undefined || this.#isDenied({ annotation, text, on })) continue;
      const parsed = envVars(text);
      if (!parsed.ok) this.#problems.push(misreadingOf(this.#mesh.values, { annotation, text, on }, text, parsed));
      else if (parsed.value.length > 0) {
        variables = overlayEnv(variables, parsed.value);
        this.#applied.push({ change: change('proxy.additionalEnv', variables), annotation, on });
      }
    }
  }

  /** The source: by the Pod's own word, by a profile, or as the values have it. */
  identity(): void {
    const { values } = this.#mesh;
    const annotation = names.identityKey;
    const text = this.#wordFor(annotation);
    const words = wordsFor(values);
    if (text !== undefined && !words.includes(text))
      this.#problems.push(refusedProblem({ annotation, text, on: 'workload' }, `one of ${words.join(', ')}`));
    const choice = choose(values, this.#workload.labels, text);
    this.#choice = choice;
    if (choice.by === 'values') return;
    const set = change('signet.identity.source', choice.source);
    if (choice.by === 'annotation') this.#applied.push({ change: set, annotation, on: 'workload' });
    else this.#applied.push({ change: set, annotation: choice.profile?.name ?? '', on: 'profile' });
  }

  /** An unknown name is never passed over: the container would wait for a socket that does not come. */
  namedContainers(): void {
    const annotation = names.containersKey;
    const text = this.#wordFor(annotation);
    if (text === undefined) return;
    const { containers, initContainers } = this.#workload;
    const known = new Set([...containers, ...initContainers].map((one) => textAt(one, 'name') ?? ''));
    const named = new Set(text.split(',').map((name) => name.trim()));
    if ([...named].some((name) => !known.has(name))) {
      const shown = `${[...known].slice(0, 20).join(', ')}${known.size > 20 ? ', …' : ''}`;
      this.#problems.push(
        refusedProblem({ annotation, text, on: 'workload' }, `names of containers of the Pod (${shown})`),
      );
    }
    this.#containers = named;
  }

  /** The Pod's own annotation, unless the administrator denies it. */
  #wordFor(annotation: string): string | undefined {
    const text = this.#own(annotation);
    return text === undefined || this.#isDenied({ annotation, text, on: 'workload' }) ? undefined : text;
  }

  /** What the Pod gets from its namespace: every inherited key that it does not carry itself, an empty one included. */
  #inherit(): ReadonlyMap<string, string> {
    const added = new Map<string, string>();
    for (const key of Object.keys(this.#namespace)) {
      const value = isInherited.has(key) ? entryOf(this.#namespace, key) : undefined;
      if (value === undefined || this.#own(key) !== undefined) continue;
      // A Pod that is injected against the annotation of its namespace must not come out saying that it opted out.
      if (key !== names.injectKey || asks(value)) added.set(key, value);
    }
    if (this.#origin.notesOpaquePorts && !added.has(names.opaquePorts) && this.#own(names.opaquePorts) === undefined) {
      const ports = opaquePortsOfPod(this.#workload, this.#mesh.values.proxy.opaquePorts);
      if (ports !== '') added.set(names.opaquePorts, ports);
    }
    return added;
  }

  #own(key: string): string | undefined {
    return entryOf(this.#workload.annotations, key);
  }

  #read(row: AnnotationRow): void {
    const { values } = this.#mesh;
    if (row.yieldsTo.some((key) => this.#added.has(key) || this.#own(key) !== undefined)) return;
    const source = this.#source(row);
    if (source === undefined) return;
    const parsed = row.read(source.text, { values, workload: this.#workload });
    if (!parsed.ok) this.#problems.push(misreadingOf(values, source, source.text, parsed));
    else {
      this.#applied.push(...parsed.value.map((one) => ({ change: one, annotation: row.key, on: source.on })));
      if (parsed.unread !== undefined) this.#problems.push(misreadingOf(values, source, parsed.unread, row));
    }
  }

  #suspect(annotation: string): void {
    const slip = slipOf({ annotation, text: this.#own(annotation) ?? '', on: 'workload' }, [...isKnown]);
    if (slip !== undefined) this.#problems.push(slip);
  }

  /** What stands on a namespace and is for Pods, or is nothing at all. */
  #suspectOnNamespace(annotation: string): void {
    const text = entryOf(this.#namespace, annotation) ?? '';
    const source: Source = { annotation, text, on: 'namespace' };
    const belongs = ofPods.has(annotation) ? 'it on the Pod, since a namespace does not hand it down' : undefined;
    const expected = belongs ?? (annotation === names.modeKey && text !== 'audit' ? 'audit' : undefined);
    if (expected !== undefined)
      this.#problems.push({ annotation, on: 'namespace', value: text, expected, cause: 'unknown', effect: 'ignored' });
    else if (isConfiguration.test(annotation) && !isKnown.has(annotation)) {
      const slip = slipOf(source, [...isKnown]);
      if (slip !== undefined) this.#problems.push(slip);
    }
  }

  /** What a row is read from: the Pod, else its namespace; what the administrator denies a workload counts as not there. */
  #source({ key, inherited }: AnnotationRow): Source | undefined {
    const own = this.#own(key);
    if (own !== undefined && !this.#isDenied({ annotation: key, text: own, on: 'workload' }))
      return { annotation: key, text: own, on: 'workload' };
    const above = inherited ? entryOf(this.#namespace, key) : undefined;
    if (above !== undefined) return { annotation: key, text: above, on: 'namespace' };
    const text = own === undefined ? this.#added.get(key) : undefined;
    return text === undefined ? undefined : { annotation: key, text, on: 'workload' };
  }

  #isDenied(source: Source): boolean {
    const denial = denialOf(this.#mesh.values, source);
    if (denial !== undefined) this.#problems.push(denial);
    return denial !== undefined;
  }
}
