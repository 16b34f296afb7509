import { entryOf, type JsonObject } from '../../json.js';
import { injectIdentityKey, injectKey } from '../names.js';

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
  /** The Pod wants its identity alone, without a proxy. */
  readonly alone: boolean;
}

/**
 * A namespace's value is its label, else its annotation; a Pod's is `disabled` if either says so, else the same. A Pod that
 * asks for identity alone has asked, whatever else it says but `disabled`.
 */
export function optInOf(namespace: Namespace, labels: JsonObject, annotations: JsonObject): OptIn {
  const label = entryOf(labels, injectKey) ?? '';
  const annotation = entryOf(annotations, injectKey) ?? '';
  const own = (entryOf(labels, injectIdentityKey) || entryOf(annotations, injectIdentityKey)) ?? '';
  const asked = wordOf(namespace);
  if (label === 'disabled' || annotation === 'disabled')
    return { namespace: asked, workload: 'disabled', alone: false };
  if (own === '') return { namespace: asked, workload: label || annotation, alone: false };
  if (own === 'identity') return { namespace: asked, workload: 'enabled', alone: true };
  return { namespace: asked, workload: `${injectIdentityKey}: ${own}`, alone: false };
}

/** What a namespace says of injection: its label, else its annotation. */
export function wordOf({ labels, annotations }: Namespace): string {
  return (entryOf(labels, injectKey) || entryOf(annotations, injectKey)) ?? '';
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
