import type { Verdict } from '../inject/inject.js';
import type { Owner } from '../inject/workload.js';
import { type JsonObject, listAt, objectAt, textAt } from '../json.js';
import type { Review } from './review.js';

/** What is told of a decision, in the log, in metrics and in an Event. It holds nothing of the object but names, so it can be kept. */
export interface About {
  /** The name of the object; a Pod that a controller makes has only the start of one yet. */
  readonly name: string;
  /** What made the Pod, where the Pod can tell. */
  readonly owner: Owner | undefined;
  /** The object that an Event is about: what refers to the Pod as its owner, with its uid. */
  readonly holder: JsonObject | undefined;
  readonly askedBy: Verdict['askedBy'];
  readonly message: string;
}

/** The same of something that nothing was decided about. */
export function aboutNothing({ object }: Review): About {
  return { name: nameOf(object), owner: undefined, holder: undefined, askedBy: undefined, message: '' };
}

/** Gathers it from a review and what was decided. */
export function aboutVerdict({ object, namespace }: Review, { subject, askedBy, message }: Verdict): About {
  const owner = subject.is === 'workload' ? subject.workload.owner : undefined;
  return { name: nameOf(object), owner, holder: holderOf(object, namespace), askedBy, message };
}

/** The name of an object, or the start of the one that it will get. */
export function nameOf(object: JsonObject): string {
  const metadata = objectAt(object, 'metadata');
  return textAt(metadata, 'name') ?? textAt(metadata, 'generateName') ?? '';
}

/** An Event whose object has no uid does not show in `kubectl describe`, so what has none is nobody. */
function holderOf(object: JsonObject, namespace: string): JsonObject | undefined {
  const reference = listAt(objectAt(object, 'metadata'), 'ownerReferences')[0];
  const uid = textAt(reference, 'uid');
  if (uid === undefined) return undefined;
  const [apiVersion, kind, name] = ['apiVersion', 'kind', 'name'].map((key) => textAt(reference, key) ?? '');
  return { apiVersion: apiVersion ?? '', kind: kind ?? '', name: name ?? '', namespace, uid };
}
