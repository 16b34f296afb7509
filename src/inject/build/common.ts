import type { Json, JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import type { Capabilities, PodFacts } from './pod-facts.js';

/** Image and pull policy of proxy, init container and validator: one image holds all three. */
export function proxyImage({ proxy, linkerdVersion, imagePullPolicy }: Values): JsonObject {
  return {
    image: `${proxy.image.name}:${proxy.image.version || linkerdVersion}`,
    imagePullPolicy: proxy.image.pullPolicy || imagePullPolicy,
  };
}

/** Resources of the proxy, which the init container and the validator share; nothing at all when none is set. */
export function resources({ proxy }: Values): JsonObject {
  const side = (which: 'limit' | 'request') =>
    Object.fromEntries(
      (['cpu', 'memory', 'ephemeral-storage'] as const)
        .map((resource) => [resource, proxy.resources[resource][which]] as const)
        .filter(([, amount]) => amount !== ''),
    );
  const limits = side('limit');
  const requests = side('request');
  const set = { ...some('limits', limits), ...some('requests', requests) };
  return some('resources', set);
}

/** One key, unless what it holds is empty. */
export function some(key: string, value: JsonObject | readonly Json[]): JsonObject {
  return Object.keys(value).length === 0 ? {} : { [key]: value };
}

/** The capabilities of the proxy: those of the Pod's first container where they are copied, else the configured ones. */
export function capabilitiesFor(values: Values, facts: PodFacts): Capabilities {
  return facts.capabilities ?? values.proxy.capabilities;
}
