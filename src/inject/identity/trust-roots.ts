import type { JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import { type Attachment, readMount } from './attachment.js';

const variable = 'LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS';

/** The trust anchors as the proxy takes them: from the ConfigMap at each start, or the text itself. */
export function trustAnchorsVariable(values: Values): JsonObject {
  const { source, configMap } = values.signet.trustRoots;
  return source === 'inline'
    ? { name: variable, value: `${values.identityTrustAnchorsPEM.trim()}\n` }
    : { name: variable, valueFrom: { configMapKeyRef: { key: configMap.key, name: configMap.name } } };
}

/** The trust roots as a volume, which follows the ConfigMap without a restart; none when they are inline. */
export function trustRootsVolume(values: Values): readonly Attachment[] {
  const { source, configMap } = values.signet.trustRoots;
  if (source === 'inline') return [];
  return [
    {
      volume: { name: names.volumes.trustRoots, configMap: { name: configMap.name } },
      mount: readMount(names.volumes.trustRoots, names.paths.trustRoots, true),
    },
  ];
}
