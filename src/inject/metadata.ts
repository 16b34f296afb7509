import type { Namespace } from './decide/opt-in.js';
import type { Mesh } from './mesh.js';
import * as names from './names.js';
import type { Origin } from './origin.js';
import type { Settings } from './settings/settle.js';
import type { Workload } from './workload.js';

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
  { values, added }: Settings,
  workload: Workload,
  namespace: Namespace,
  origin: Origin,
): Metadata {
  const annotations = new Map(added);
  annotations.set(names.createdBy, mesh.createdBy);
  annotations.set(names.proxyVersion, values.proxy.image.version || values.linkerdVersion);
  if (mesh.trustRootsChecksum !== '') annotations.set(names.trustRootChecksum, mesh.trustRootsChecksum);
  const labels = new Map([
    [names.controlPlaneNamespace, values.signet.controlPlaneNamespace],
    [names.workloadNamespace, namespace.name],
  ]);
  const { owner } = workload;
  const isShown = workload.path.length > 0 || origin.labelsOwnersOfPods;
  if (owner === undefined || !isShown || !origin.ownerLabels.includes(owner.kind))
    return { annotations, labels, warnings: [] };
  const key = `${names.ownerPrefix}${owner.kind}`;
  if (owner.name.length <= longestLabel) {
    labels.set(key, owner.name);
    return { annotations, labels, warnings: [] };
  }
  const warning = `label ${key} is left out: ${JSON.stringify(owner.name)} is longer than ${longestLabel} characters`;
  return { annotations, labels, warnings: [warning] };
}
