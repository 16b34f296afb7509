import type { JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import { some } from './common.js';

/** A container with network tools, for a person who looks into the Pod. */
export function debugContainer({
  debugContainer: { image },
  linkerdVersion,
  imagePullPolicy,
  signet,
}: Values): JsonObject {
  return {
    name: names.containers.debug,
    image: `${image.name}:${image.version || linkerdVersion}`,
    imagePullPolicy: image.pullPolicy || imagePullPolicy,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    livenessProbe: { exec: { command: ['true'] } },
    readinessProbe: { exec: { command: ['true'] } },
    ...some('securityContext', signet.debugContainer.securityContext),
  };
}
