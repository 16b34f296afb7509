import type { JsonObject } from '../../json.js';
import * as names from '../names.js';
import { type IdentityParts, readMount } from './attachment.js';
import type { IdentityCase } from './identity.js';
import { identityName } from './naming.js';
import { trustAnchorsVariable, trustRootsVolume } from './trust-roots.js';

/**
 * Identity by SPIRE: the node's agent knows whose Pod it is by looking at it, so there is no token and no key volume. The
 * variables were seen to work with a linkerd2-proxy of August 2026 and a real agent; LOCAL_NAME must stay away, it would win.
 */
export function spireIdentity(one: IdentityCase): IdentityParts {
  const socket = spireSocket(one);
  if (one.reader !== 'linkerd') return socket;
  return {
    attachments: [...socket.attachments, ...trustRootsVolume(one)],
    environment: [
      trustAnchorsVariable(one.values),
      { name: 'LINKERD2_PROXY_IDENTITY_SPIRE_WORKLOAD_API_ADDRESS', value: socketAddress(one) },
      { name: 'LINKERD2_PROXY_IDENTITY_SERVER_ID', value: one.spiffeId },
      // What Linkerd's destination service announces for the Pod, and peers verify: the SVID must have it as a DNS name.
      { name: 'LINKERD2_PROXY_IDENTITY_SERVER_NAME', value: identityName(one.values, '$(_pod_sa)', '$(_pod_ns)') },
    ],
  };
}

/**
 * The directory of the agent's socket. Never the socket file: a mounted file stays the old, dead one after the agent
 * restarts.
 */
export function spireSocket(one: IdentityCase): IdentityParts {
  const { volume: name, path: mountPath } = one.layout.socket;
  const { volume, path } = one.values.signet.spire;
  const source: JsonObject =
    volume === 'csi'
      ? { csi: { driver: names.spiffeDriver, readOnly: true } }
      : { hostPath: { path, type: 'Directory' } };
  return {
    attachments: [{ volume: { name, ...source }, mount: readMount(name, mountPath, true) }],
    environment: one.reader === 'linkerd' ? [] : [endpointVariable(one), ...one.layout.socketVariables],
  };
}

/** The variable by which every SPIFFE library finds the Workload API. */
export function endpointVariable(one: Pick<IdentityCase, 'values' | 'layout'>): JsonObject {
  return { name: names.endpointVariable, value: socketAddress(one) };
}

function socketAddress({ values, layout }: Pick<IdentityCase, 'values' | 'layout'>): string {
  return `unix://${layout.socket.path}/${values.signet.spire.socketFile}`;
}
