import { at, entryOf } from '../json.js';
import type { Values } from '../values/keys.js';
import type { Namespace } from './decide/opt-in.js';
import { hasSocket } from './identity/identity.js';
import { readerOf } from './identity/layouts.js';
import { usesWorkload } from './identity/spiffe-id.js';
import { trustAnchors } from './identity/trust-roots.js';
import type { Mesh } from './mesh.js';
import * as names from './names.js';
import type { Origin } from './origin.js';
import type { Settings } from './settings/settle.js';
import { type Workload, workloadName } from './workload.js';

/** Annotations and labels of an injected Pod. */
export interface Metadata {
  readonly annotations: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

/** Kubernetes refuses a Pod with a longer label value. */
const longestLabel = 63;

/** What an injected Pod says of itself: who injected it, with which proxy and trust roots, and whose Pod it is. */
export function metadataFor(
  mesh: Mesh,
  settings: Settings,
  workload: Workload,
  namespace: Namespace,
  origin: Origin,
  alone: boolean,
): Metadata {
  const { values, added } = settings;
  const isLinkerd = readerOf(values, alone) === 'linkerd';
  const annotations = new Map(added);
  annotations.set(names.createdBy, mesh.createdBy);
  if (isLinkerd) annotations.set(names.proxyVersion, values.proxy.image.version || values.linkerdVersion);
  if (mesh.trustRootsChecksum !== '') annotations.set(names.trustRootChecksum, mesh.trustRootsChecksum);
  if (readsTextAsFile(values, isLinkerd)) annotations.set(names.trustRootsKey, trustAnchors(values));
  const labels = new Map(identityLabels(settings, workload));
  const claims = [...labels].flatMap(([key, value]) => claimText(workload, key, value));
  // By these labels Linkerd's control plane takes a Pod for meshed: peers would expect a proxy of its own there.
  if (!isLinkerd) return { annotations, labels, warnings: claims };
  labels.set(names.controlPlaneNamespace, values.signet.controlPlaneNamespace);
  labels.set(names.workloadNamespace, namespace.name);
  const { owner } = workload;
  const isShown = workload.path.length > 0 || origin.labelsOwnersOfPods;
  if (owner === undefined || !isShown || !origin.ownerLabels.includes(owner.kind))
    return { annotations, labels, warnings: claims };
  const key = `${names.ownerPrefix}${owner.kind}`;
  if (owner.name.length <= longestLabel) {
    labels.set(key, owner.name);
    return { annotations, labels, warnings: claims };
  }
  const warning = `label ${key} is left out: ${JSON.stringify(owner.name)} is longer than ${longestLabel} characters`;
  return { annotations, labels, warnings: [...claims, warning] };
}

/** What a ClusterSPIFFEID selects Pods by, and makes their IDs of; a SPIRE server sees labels only. */
function identityLabels({ values, choice }: Settings, workload: Workload): readonly (readonly [string, string])[] {
  const identity = choice.profile?.name ?? choice.source;
  const isUsed = choice.profile !== undefined && usesWorkload(choice.profile.spiffeID);
  const rows = [
    [names.spireLabel, 'enabled', hasSocket(values)],
    [names.identityKey, identity, identity !== 'token'],
    [names.workloadLabel, workloadName(workload), isUsed],
  ] as const;
  // What an author wrote there must not claim an identity that was not given: it is set right, whatever it says.
  return rows.flatMap(([key, value, isSet]) =>
    isSet ? [[key, value]] : at(workload.labels, key) === undefined ? [] : [[key, 'none']],
  );
}

/** Authors write the label where they mean the annotation of the same name. */
function claimText({ labels }: Workload, key: string, value: string): readonly string[] {
  const written = entryOf(labels, key);
  if (written === undefined || written === value) return [];
  const instead = key === names.identityKey ? `; an identity is chosen by the annotation ${key}` : '';
  return [`label ${key} is set by signet, from ${JSON.stringify(written)} to ${JSON.stringify(value)}${instead}`];
}

function readsTextAsFile({ signet }: Values, isLinkerd: boolean): boolean {
  return signet.trustRoots.source === 'inline' && !isLinkerd && signet.identity.source !== 'spire';
}
