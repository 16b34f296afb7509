import type { JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import type { Attachment } from '../identity/attachment.js';
import { some } from './common.js';

/** A container of the administrator's in the place of the Linkerd proxy, with its identity where it expects it. */
export function sidecarContainer(
  values: Values,
  identity: readonly JsonObject[],
  attachments: readonly Attachment[],
): JsonObject {
  const { sidecar } = values.signet;
  const own = new Set(sidecar.env.map(({ name }) => name));
  return {
    name: sidecar.name,
    image: sidecar.image,
    imagePullPolicy: sidecar.imagePullPolicy || values.imagePullPolicy,
    ...some('command', sidecar.command),
    ...some('args', sidecar.args),
    // What the administrator says of a variable holds.
    ...some('env', [...identity.filter(({ name }) => name === undefined || !own.has(name)), ...sidecar.env]),
    ...some('ports', sidecar.ports),
    ...some('livenessProbe', sidecar.livenessProbe),
    ...some('readinessProbe', sidecar.readinessProbe),
    ...some('startupProbe', sidecar.startupProbe),
    ...some('lifecycle', sidecar.lifecycle),
    ...some('resources', sidecar.resources),
    ...some('securityContext', sidecar.securityContext),
    volumeMounts: [...attachments.map(({ mount }) => mount), ...sidecar.volumeMounts],
    ...(values.proxy.nativeSidecar ? { restartPolicy: 'Always' } : {}),
  };
}
