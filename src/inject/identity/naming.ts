import type { Values } from '../../values/keys.js';

/** The trust domain of every identity in the mesh. */
export function trustDomain(values: Values): string {
  return values.identityTrustDomain || values.clusterDomain;
}

/** The name that Linkerd's identity service certifies for a ServiceAccount, and that peers verify. */
export function identityName(values: Values, serviceAccount: string, namespace: string): string {
  return `${serviceAccount}.${namespace}.serviceaccount.identity.${values.signet.controlPlaneNamespace}.${trustDomain(values)}`;
}
