import type { JsonObject } from '../json.js';
import type { Api } from './api.js';

/** What an Event says, and of which object; it shows in `kubectl describe` only when the object's uid is right. */
export interface EventText {
  readonly namespace: string;
  readonly reason: string;
  readonly message: string;
  readonly about: JsonObject;
  /** `Normal` where nothing else is said. */
  readonly type?: 'Normal' | 'Warning';
}

/** Writes an Event. */
export async function writeEvent(
  api: Api,
  { namespace, reason, message, about, type = 'Normal' }: EventText,
  now: Date,
): Promise<void> {
  const time = now.toISOString().replace(/\.\d+Z$/, 'Z');
  await api.create(`/api/v1/namespaces/${namespace}/events`, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { generateName: 'signet-', namespace },
    involvedObject: about,
    reason,
    message: message.slice(0, 1024),
    type,
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component: 'signet' },
  });
}
