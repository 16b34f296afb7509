import type { Values } from '../../values/keys.js';
import type { Source } from '../../values/profiles.js';
import type { IdentityParts } from './attachment.js';
import { type Layout, layoutFor, type Reader, readerOf } from './layouts.js';
import { podCertificateIdentity } from './pod-certificate.js';
import { spireIdentity, spireSocket } from './spire.js';
import { tokenIdentity } from './token.js';

/** What a source works with. */
export interface IdentityCase {
  readonly values: Values;
  readonly reader: Reader;
  readonly layout: Layout;
  /** The SPIFFE ID, with references to the Pod's own namespace and ServiceAccount. */
  readonly spiffeId: string;
}

const bySource: { readonly [source in Source]: (one: IdentityCase) => IdentityParts } = {
  token: tokenIdentity,
  spire: spireIdentity,
  podCertificate: podCertificateIdentity,
};

/** The volumes and variables by which a Pod gets its identity, and the socket beside them where it is asked for. */
export function identityParts(values: Values, alone: boolean, spiffeId: string): IdentityParts {
  const reader = readerOf(values, alone);
  const one = { values, reader, layout: layoutFor(values, reader), spiffeId };
  const parts = bySource[values.signet.identity.source](one);
  if (!values.signet.spire.enabled || values.signet.identity.source === 'spire') return parts;
  const socket = spireSocket(one);
  return {
    attachments: [...parts.attachments, ...socket.attachments],
    environment: [...parts.environment, ...socket.environment],
  };
}

/** Whether a Pod with these values has the Workload API's socket. */
export function hasSocket({ signet }: Values): boolean {
  return signet.identity.source === 'spire' || signet.spire.enabled;
}
