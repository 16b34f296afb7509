import { type JsonObject, textAt } from '../../json.js';
import type { Values } from '../../values/keys.js';
import { sources } from '../../values/profiles.js';
import { identityParts } from './identity.js';

/**
 * Places where these values would mount two things into one container, by whatever source a Pod may choose. Kubernetes refuses such
 * a Pod, so whoever wrote the values should hear of it first.
 */
export function overlapsIn(values: Values): readonly string[] {
  const { signet } = values;
  const found = sources.flatMap((source) =>
    [false, true].flatMap((alone) => {
      const chosen = {
        ...values,
        signet: { ...signet, identity: { ...signet.identity, source }, spire: { ...signet.spire, enabled: true } },
      };
      const mounts = identityParts(chosen, alone, '').attachments.map(({ mount }) => mount);
      return repeated(alone || signet.sidecar.image === '' ? mounts : [...mounts, ...signet.sidecar.volumeMounts]);
    }),
  );
  return [...new Set(found)];
}

function repeated(mounts: readonly JsonObject[]): readonly string[] {
  const places = mounts.map((one) => textAt(one, 'mountPath') ?? '');
  return places.filter((place, index) => places.indexOf(place) !== index);
}
