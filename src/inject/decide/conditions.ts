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
  | { readonly container: string };

const words = ['enabled', 'ingress'];
const label = (...is: readonly string[]): Condition => ({ map: 'labels', key: names.injectKey, is });
const annotation = (...is: readonly string[]): Condition => ({ map: 'annotations', key: names.injectKey, is });

/** `disabled` in either place, whatever the other says. */
export const optedOut: Condition = { any: [label('disabled'), annotation('disabled')] };

/** The label asks, or there is none (an empty one is none) and the annotation does; and neither says no. */
export const optedIn: Condition = {
  all: [{ not: optedOut }, { any: [label(...words), { all: [{ not: labelSaysSomething() }, annotation(...words)] }] }],
};

/** The proxy is there, in either list. */
export const hasProxy: Condition = { container: names.containers.proxy };

/** Any text but the empty one; a Pod without the label has the empty one. */
function labelSaysSomething(): Condition {
  return { all: [{ map: 'labels', key: names.injectKey, is: [] }, { not: label('') }] };
}

/** Evaluates a condition on a Pod; an empty list of words asks whether the key is there at all. */
export function holds(condition: Condition, pod: JsonObject): boolean {
  if ('all' in condition) return condition.all.every((one) => holds(one, pod));
  if ('any' in condition) return condition.any.some((one) => holds(one, pod));
  if ('not' in condition) return !holds(condition.not, pod);
  if ('container' in condition) {
    const spec = objectAt(pod, 'spec');
    return [...listAt(spec, 'initContainers'), ...listAt(spec, 'containers')].some(
      (one) => at(one, 'name') === condition.container,
    );
  }
  const value = entryOf(objectAt(objectAt(pod, 'metadata'), condition.map), condition.key);
  return value !== undefined && (condition.is.length === 0 || condition.is.includes(value));
}
