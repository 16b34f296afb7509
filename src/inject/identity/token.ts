import type { JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import { type Attachment, type IdentityParts, readMount } from './attachment.js';
import type { IdentityCase } from './identity.js';
import { identityName } from './naming.js';
import { trustAnchorsVariable, trustRootsVolume } from './trust-roots.js';

/**
 * Identity by ServiceAccount token: the proxy makes a key in memory, and proves with the token to an identity service which
 * ServiceAccount it runs as.
 */
export function tokenIdentity(one: IdentityCase): IdentityParts {
  const projected = one.values.identity.serviceAccountTokenProjection || one.reader !== 'linkerd';
  return {
    attachments: [keysVolume(one), ...(projected ? [tokenVolume(one)] : []), ...trustRootsVolume(one)],
    environment: one.reader === 'linkerd' ? linkerdVariables(one.values, projected) : one.layout.tokenVariables,
  };
}

function linkerdVariables(values: Values, projected: boolean): readonly JsonObject[] {
  const { signet, clusterDomain } = values;
  const { controlPlaneNamespace } = signet;
  const tokenFile = projected ? `${names.paths.token}/${names.paths.tokenFile}` : `${names.paths.serviceAccount}/token`;
  return [
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
  ];
}

/** Keys live in memory and never touch a disk. */
function keysVolume({ values, layout }: IdentityCase): Attachment {
  const { sizeLimit } = values.signet.identity.keys;
  const { volume: name, path: mountPath } = layout.keys;
  return {
    volume: { name, emptyDir: sizeLimit === '' ? { medium: 'Memory' } : { medium: 'Memory', sizeLimit } },
    mount: { name, mountPath },
  };
}

/** A token that is good for the identity service alone. */
function tokenVolume({ values, layout }: IdentityCase): Attachment {
  const { identity } = values.signet;
  const { volume: name, path, file, audience } = layout.token;
  const serviceAccountToken = { audience, expirationSeconds: identity.token.expirationSeconds, path: file };
  return {
    volume: { name, projected: { sources: [{ serviceAccountToken }] } },
    mount: readMount(name, path, identity.readOnlyMounts),
  };
}
