import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import { type Attachment, type IdentityParts, readMount } from './attachment.js';
import { identityName } from './naming.js';
import { trustAnchorsVariable, trustRootsVolume } from './trust-roots.js';

/**
 * Identity by ServiceAccount token: the proxy makes a key in memory, and proves with the token to Linkerd's identity
 * service which ServiceAccount it runs as.
 */
export function tokenIdentity(values: Values): IdentityParts {
  const { identity, signet, clusterDomain } = values;
  const { controlPlaneNamespace } = signet;
  const projected = identity.serviceAccountTokenProjection;
  const tokenFile = projected ? `${names.paths.token}/${names.paths.tokenFile}` : `${names.paths.serviceAccount}/token`;
  return {
    attachments: [keysVolume(values), ...(projected ? [tokenVolume(values)] : []), ...trustRootsVolume(values)],
    environment: [
      { name: 'LINKERD2_PROXY_IDENTITY_DIR', value: names.paths.keys },
      trustAnchorsVariable(values),
      { name: 'LINKERD2_PROXY_IDENTITY_TOKEN_FILE', value: tokenFile },
      {
        name: 'LINKERD2_PROXY_IDENTITY_SVC_ADDR',
        value: `linkerd-identity-headless.${controlPlaneNamespace}.svc.${clusterDomain}.:8080`,
      },
      { name: 'LINKERD2_PROXY_IDENTITY_LOCAL_NAME', value: identityName(values, '$(_pod_sa)', '$(_pod_ns)') },
      {
        name: 'LINKERD2_PROXY_IDENTITY_SVC_NAME',
        value: identityName(values, 'linkerd-identity', controlPlaneNamespace),
      },
    ],
  };
}

/** Keys live in memory and never touch a disk. */
function keysVolume({ signet }: Values): Attachment {
  const { sizeLimit } = signet.identity.keys;
  return {
    volume: {
      name: names.volumes.keys,
      emptyDir: sizeLimit === '' ? { medium: 'Memory' } : { medium: 'Memory', sizeLimit },
    },
    mount: { name: names.volumes.keys, mountPath: names.paths.keys },
  };
}

/** A token that is good for the identity service alone. */
function tokenVolume({ signet }: Values): Attachment {
  const { audience, expirationSeconds } = signet.identity.token;
  const serviceAccountToken = { audience, expirationSeconds, path: names.paths.tokenFile };
  return {
    volume: { name: names.volumes.token, projected: { sources: [{ serviceAccountToken }] } },
    mount: readMount(names.volumes.token, names.paths.token, signet.identity.readOnlyMounts),
  };
}
