import type { Verdict } from '../inject/inject.js';
import { type JsonObject, objectAt, textAt } from '../json.js';

/** The name of an object for a log line; a Pod that a controller makes has only the start of one yet. */
export function nameOfObject(object: JsonObject): string {
  const metadata = objectAt(object, 'metadata');
  return textAt(metadata, 'name') ?? textAt(metadata, 'generateName') ?? '';
}

/** What made the Pod, as `kind/name`, where the Pod can tell. */
export function ownerOfVerdict(verdict: Verdict | undefined): string {
  const owner = verdict?.subject.is === 'workload' ? verdict.subject.workload.owner : undefined;
  return owner === undefined ? '' : `${owner.kind}/${owner.name}`;
}
