import { frozen, type JsonObject, listAt } from '../../json.js';
import type { Values } from '../../values/keys.js';
import type { Attachment, IdentityParts } from '../identity/attachment.js';
import { hasSocket, identityParts } from '../identity/identity.js';
import { layoutFor, type Reader, readerOf } from '../identity/layouts.js';
import { endpointVariable } from '../identity/spire.js';
import { debugContainer } from './debug.js';
import { initContainer, xtablesVolume } from './init.js';
import type { PodFacts } from './pod-facts.js';
import { proxyAttachments, proxyContainer } from './proxy.js';
import { sidecarContainer } from './sidecar.js';
import { asTyped } from './typed.js';
import { validatorContainer } from './validator.js';

/** Everything that a Pod's spec gets. */
export interface Parts {
  /** The volume of the init container; none in CNI mode. */
  readonly xtables: JsonObject | undefined;
  /** `linkerd-init`, or the validator in CNI mode; none where no traffic is redirected. */
  readonly init: JsonObject | undefined;
  readonly debug: JsonObject | undefined;
  readonly volumes: readonly JsonObject[];
  /** The Linkerd proxy, or a sidecar of the administrator's; none with identity alone. */
  readonly proxy: JsonObject | undefined;
  /** What the author's own containers get, those that are to have it. */
  readonly granted: { readonly mounts: readonly JsonObject[]; readonly env: readonly JsonObject[] };
}

/** Pods that differ in nothing we look at share one set of parts; past this many the memory starts over. */
const remembered = 256;
const known = new WeakMap<Values, Map<string, Parts>>();

/**
 * Builds the parts for a Pod. All but the mount of its token is the same for many Pods: it is built once and frozen, by which
 * whoever writes it knows that its text can be kept. That mount has a name that the API server makes up for each Pod.
 */
export function build(values: Values, facts: PodFacts, typed: boolean): Parts {
  const parts = shared(values, facts, typed);
  const { serviceAccountMount: mount } = facts;
  // SPIRE's agent knows whose Pod it is without a token.
  if (mount === undefined || values.signet.identity.source === 'spire') return parts;
  const { xtables, debug, volumes, granted } = parts;
  // The validator opens no file, and a sidecar of the administrator's has what its values say.
  const init = values.cniEnabled ? parts.init : withMount(parts.init, mount);
  const isLinkerd = readerOf(values, facts.identity.alone) === 'linkerd';
  return { xtables, init, debug, volumes, proxy: isLinkerd ? withMount(parts.proxy, mount) : parts.proxy, granted };
}

function withMount(container: JsonObject | undefined, mount: JsonObject): JsonObject | undefined {
  return container && { ...container, volumeMounts: [...listAt(container, 'volumeMounts'), mount] };
}

function shared(values: Values, facts: PodFacts, typed: boolean): Parts {
  const parts = known.get(values) ?? new Map<string, Parts>();
  known.set(values, parts);
  const key = keyOf(facts, typed);
  const found = parts.get(key);
  if (found !== undefined) return found;
  if (parts.size >= remembered) parts.clear();
  const made = frozen(typed ? typedParts(make(values, facts)) : make(values, facts));
  parts.set(key, made);
  return made;
}

/** Everything that the shared parts are made of, as one text. */
function keyOf({ inboundPorts, capabilities, identity }: PodFacts, typed: boolean): string {
  return `${typed} ${identity.alone} ${identity.spiffeId} ${inboundPorts} ${capabilities === undefined ? '' : JSON.stringify(capabilities)}`;
}

function make(values: Values, facts: PodFacts): Parts {
  const { alone, spiffeId } = facts.identity;
  const reader = readerOf(values, alone);
  const identity = identityParts(values, alone, spiffeId);
  const attachments = reader === 'linkerd' ? proxyAttachments(values, identity) : identity.attachments;
  const redirects = reader === 'linkerd' || (reader === 'sidecar' && values.signet.sidecar.redirect);
  return {
    xtables: redirects && !values.cniEnabled ? xtablesVolume : undefined,
    init: redirects ? (values.cniEnabled ? validatorContainer(values) : initContainer(values, facts)) : undefined,
    debug: values.signet.debugContainer.enabled && !alone ? debugContainer(values) : undefined,
    volumes: [
      ...attachments.map(({ volume }) => volume),
      ...(reader === 'sidecar' ? values.signet.sidecar.volumes : []),
    ],
    proxy: proxyFor(values, facts, identity, attachments),
    granted: alone
      ? { mounts: attachments.map(({ mount }) => mount), env: identity.environment }
      : socketFor(values, reader, attachments),
  };
}

function proxyFor(
  values: Values,
  facts: PodFacts,
  identity: IdentityParts,
  attachments: readonly Attachment[],
): JsonObject | undefined {
  switch (readerOf(values, facts.identity.alone)) {
    case 'linkerd':
      return proxyContainer(values, facts, identity, attachments);
    case 'sidecar':
      return sidecarContainer(values, identity.environment, attachments);
    case 'application':
      return undefined;
  }
}

/** Beside a proxy, other containers can have the Workload API and nothing else: token and keys are the proxy's alone. */
function socketFor(values: Values, reader: Reader, attachments: readonly Attachment[]): Parts['granted'] {
  if (!hasSocket(values)) return { mounts: [], env: [] };
  const layout = layoutFor(values, reader);
  const mounts = attachments.map(({ mount }) => mount).filter(({ name }) => name === layout.socket.volume);
  return { mounts, env: [endpointVariable({ values, layout })] };
}

function typedParts(parts: Parts): Parts {
  return {
    ...parts,
    init: parts.init && asTyped(parts.init),
    proxy: parts.proxy && asTyped(parts.proxy),
    debug: parts.debug && asTyped(parts.debug),
  };
}
