import { at, isObject, type JsonObject, listAt } from '../../json.js';
import type { Values } from '../../values/keys.js';
import { inboundPorts, serviceAccountMount } from '../settings/ports.js';
import type { Workload } from '../workload.js';

/** Everything about a Pod, beside its settings, that what we add depends on. */
export interface PodFacts {
  readonly inboundPorts: string;
  readonly serviceAccountMount: JsonObject | undefined;
  /** Capabilities to use instead of the configured ones; only where the values say that they are copied. */
  readonly capabilities: Capabilities | undefined;
  readonly identity: IdentityFacts;
}

/** The same for every Pod that asks the same. */
export interface IdentityFacts {
  readonly alone: boolean;
  readonly spiffeId: string;
}

export interface Capabilities {
  readonly add: readonly string[];
  readonly drop: readonly string[];
}

/** Reads those facts off a Pod. */
export function podFacts(workload: Workload, values: Values, alone: boolean, spiffeId: string): PodFacts {
  return {
    inboundPorts: inboundPorts(workload),
    serviceAccountMount: serviceAccountMount(workload),
    capabilities: values.signet.copyCapabilities ? capabilitiesOf(workload) : undefined,
    identity: { alone, spiffeId },
  };
}

function capabilitiesOf({ containers }: Workload): Capabilities | undefined {
  const given = at(at(containers[0], 'securityContext'), 'capabilities');
  if (!isObject(given)) return undefined;
  const texts = (key: string) => listAt(given, key).filter((one) => typeof one === 'string');
  return { add: texts('add'), drop: texts('drop') };
}
