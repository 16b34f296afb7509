import { entryOf, type JsonObject } from '../../json.js';
import { injectKey } from '../names.js';

/** What a namespace is known by. */
export interface Namespace {
  readonly name: string;
  readonly labels: JsonObject;
  readonly annotations: JsonObject;
}

/** A namespace that nothing is known of. */
export function bareNamespace(name: string): Namespace {
  return { name, labels: {}, annotations: {} };
}

const words = ['enabled', 'disabled', 'ingress'];

/** What the namespace and the Pod say of injection; an empty text says nothing. */
export interface OptIn {
  readonly namespace: string;
  readonly workload: string;
}

/** A namespace's value is its label, else its annotation; a Pod's is `disabled` if either says so, else the same. */
export function optInOf(namespace: Namespace, labels: JsonObject, annotations: JsonObject): OptIn {
  const label = entryOf(labels, injectKey) ?? '';
  const annotation = entryOf(annotations, injectKey) ?? '';
  const workload = label === 'disabled' || annotation === 'disabled' ? 'disabled' : label || annotation;
  return {
    namespace: (entryOf(namespace.labels, injectKey) || entryOf(namespace.annotations, injectKey)) ?? '',
    workload,
  };
}

/** True of text that says something, and nothing that is understood. */
export function isUnknownWord(word: string): boolean {
  return word !== '' && !words.includes(word);
}

/** True of the two words that ask for injection. */
export function asks(word: string): boolean {
  return word === 'enabled' || word === 'ingress';
}

/** Who asked for injection: the namespace counts first, as in Linkerd's `annotation_at`; nobody, when it was not asked for. */
export function askedBy({ namespace, workload }: OptIn): 'namespace' | 'workload' | undefined {
  if (isUnknownWord(namespace) || isUnknownWord(workload) || workload === 'disabled') return undefined;
  if (asks(namespace)) return 'namespace';
  return asks(workload) ? 'workload' : undefined;
}
