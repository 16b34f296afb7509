import { entryOf, type JsonObject, textAt } from '../json.js';
import { defaultSpiffeId } from '../values/profiles.js';
import { build, type Parts } from './build/build.js';
import { podFacts } from './build/pod-facts.js';
import type { Namespace, OptIn } from './decide/opt-in.js';
import { hasSocket } from './identity/identity.js';
import { trustDomain } from './identity/naming.js';
import { type SpiffeId, spiffeIdOf } from './identity/spiffe-id.js';
import type { Mesh } from './mesh.js';
import { injectKey } from './names.js';
import type { Origin } from './origin.js';
import { type Settings, settle } from './settings/settle.js';
import { serviceAccountOf, type Workload, workloadName } from './workload.js';

/** What would be done to a Pod if no rule spoke against it. */
export interface Plan {
  readonly settings: Settings;
  readonly parts: Parts;
  /** The SPIFFE ID, where the identity has one that we choose. */
  readonly spiffeId: SpiffeId | undefined;
  /** The author's containers that get the identity as well. */
  readonly targets: readonly Target[];
}

/** A container of the author's. */
export interface Target {
  readonly list: 'containers' | 'initContainers';
  readonly index: number;
  readonly container: JsonObject;
}

/** Works out a plan when the first rule asks for it, and once. */
export function planner(
  mesh: Mesh,
  workload: Workload,
  namespace: Namespace,
  optIn: OptIn,
  origin: Origin,
): () => Plan {
  let plan: Plan | undefined;
  return () => {
    plan ??= make(mesh, workload, namespace, optIn, origin);
    return plan;
  };
}

function make(mesh: Mesh, workload: Workload, namespace: Namespace, optIn: OptIn, origin: Origin): Plan {
  const settings = settle(mesh, workload, namespace.annotations, origin, modeOf(optIn, workload));
  const { values, choice } = settings;
  const spiffeId = hasSocket(values)
    ? spiffeIdOf(choice.profile?.spiffeID ?? defaultSpiffeId, {
        // What kubectl would say for a manifest that names none.
        Namespace: namespace.name || 'default',
        ServiceAccount: serviceAccountOf(workload),
        TrustDomain: trustDomain(values),
        Workload: workloadName(workload),
        labels: workload.labels,
      })
    : undefined;
  const referenced = spiffeId !== undefined && 'referenced' in spiffeId ? spiffeId.referenced : '';
  const facts = podFacts(workload, values, optIn.alone, referenced);
  return {
    settings,
    parts: build(values, facts, origin.writesTyped),
    spiffeId,
    targets: targetsOf(workload, optIn.alone, settings.containers),
  };
}

/** Those that are named; with identity alone and nobody named, all of them. */
function targetsOf(workload: Workload, alone: boolean, named: ReadonlySet<string> | undefined): readonly Target[] {
  if (named === undefined && !alone) return [];
  return (['initContainers', 'containers'] as const).flatMap((list) =>
    workload[list]
      .map((container, index) => ({ list, index, container }))
      .filter(({ container }) => named === undefined || named.has(textAt(container, 'name') ?? '')),
  );
}

/** The Pod's own word, else the namespace's; an empty annotation on the Pod is a word too, as in Linkerd. */
function modeOf({ namespace, workload: own }: OptIn, { annotations }: Workload): string {
  return own !== '' || entryOf(annotations, injectKey) !== undefined ? own : namespace;
}
