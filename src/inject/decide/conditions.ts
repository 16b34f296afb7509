import { at, entryOf, type JsonObject, listAt, objectAt } from '../../json.js';
import * as names from '../names.js';

/**
 * What the API server itself can see of a Pod, as data: `install/` writes it as CEL, and `holds` evaluates it, so that a test
 * can compare both with the handler.
 */
export type Condition =
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }
  | { readonly map: 'labels' | 'annotations'; readonly key: string; readonly is: readonly string[] }
  | { readonly container: string }
  | { readonly volumeOf: readonly string[] };

const words = ['enabled', 'ingress'];
const has = (map: 'labels' | 'annotations', key: string, ...is: readonly string[]): Condition => ({ map, key, is });

/** A key as label, else as annotation: an empty label says nothing. */
const says = (key: string, ...is: readonly string[]): Condition => ({
  any: [has('labels', key, ...is), { all: [{ not: labelSaysSomething(key) }, has('annotations', key, ...is)] }],
});

/** `disabled` in either place, whatever the other says. */
export const optedOut: Condition = {
  any: [has('labels', names.injectKey, 'disabled'), has('annotations', names.injectKey, 'disabled')],
};

/** The Pod asks for its identity alone. */
export const wantsIdentityAlone: Condition = says(names.injectIdentityKey, 'identity');

/** The Pod asks in one of the two ways, and neither place says no. */
export const optedIn: Condition = {
  all: [{ not: optedOut }, { any: [wantsIdentityAlone, says(names.injectKey, ...words)] }],
};

/** What injection leaves is there: the proxy in either list or, where only identity was asked for, one of its volumes. */
export function isInjected(sidecar: string, volumes: readonly string[]): Condition {
  const alone: Condition = { all: [wantsIdentityAlone, { volumeOf: volumes }] };
  const containers: readonly Condition[] = [...new Set([names.containers.proxy, sidecar])].map((container) => ({
    container,
  }));
  return { any: [...containers, alone] };
}

/** Any text but the empty one; a Pod without the label has the empty one. */
function labelSaysSomething(key: string): Condition {
  return { all: [has('labels', key), { not: has('labels', key, '') }] };
}

/** Evaluates a condition on a Pod; an empty list of words asks whether the key is there at all. */
export function holds(condition: Condition, pod: JsonObject): boolean {
  if ('all' in condition) return condition.all.every((one) => holds(one, pod));
  if ('any' in condition) return condition.any.some((one) => holds(one, pod));
  if ('not' in condition) return !holds(condition.not, pod);
  const spec = objectAt(pod, 'spec');
  if ('container' in condition)
    return [...listAt(spec, 'initContainers'), ...listAt(spec, 'containers')].some(
      (one) => at(one, 'name') === condition.container,
    );
  if ('volumeOf' in condition)
    return listAt(spec, 'volumes').some((one) => condition.volumeOf.some((name) => name === at(one, 'name')));
  const value = entryOf(objectAt(objectAt(pod, 'metadata'), condition.map), condition.key);
  return value !== undefined && (condition.is.length === 0 || condition.is.includes(value));
}
