import { holds } from '../inject/decide/conditions.js';
import { at, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.js';
import { toCel } from './cel.js';
import { entries } from './entries.js';
import { type ConditionOptions, conditionOf } from './registration.js';
import { whyNotSelected } from './selector.js';

/** Whether the API server asks by an entry about a Pod, and if not, why not. */
export interface Calling {
  readonly entry: string;
  /** Nothing when it does; `unknown` begins what cannot be told from here. */
  readonly whyNot: string | undefined;
}

/** Follows the API server through a registration: selectors, then conditions. */
export function callings(
  configuration: JsonObject,
  namespaceLabels: JsonObject,
  pod: JsonObject,
  options: ConditionOptions,
): readonly Calling[] {
  return listAt(configuration, 'webhooks')
    .filter((entry) => listAt(entry, 'rules').some((rule) => listAt(rule, 'resources').includes('pods')))
    .map((entry) => ({
      entry: textAt(entry, 'name') ?? '',
      whyNot: whyNotCalled(entry, namespaceLabels, pod, options),
    }));
}

function whyNotCalled(
  entry: Json,
  namespaceLabels: JsonObject,
  pod: JsonObject,
  options: ConditionOptions,
): string | undefined {
  const namespace = whyNotSelected(at(entry, 'namespaceSelector'), namespaceLabels);
  if (namespace !== undefined) return `of the namespace, ${namespace}`;
  const object = whyNotSelected(at(entry, 'objectSelector'), objectAt(objectAt(pod, 'metadata'), 'labels'));
  if (object !== undefined) return `of the Pod, ${object}`;
  const written = listAt(entry, 'matchConditions').map((one) => textAt(one, 'expression') ?? '');
  if (written.length === 0) return undefined;
  const known = entries.find(({ name }) => textAt(entry, 'name') === `${name}.signet.dev`);
  const condition = known && conditionOf(known.name, options);
  if (condition === undefined || written.length > 1 || written[0] !== toCel(condition))
    return 'unknown: its conditions are of another version of signet';
  return holds(condition, pod) ? undefined : meanings[known?.name ?? 'rest'];
}

/** What the conditions say, for a person. */
const meanings = {
  namespace: 'the Pod has opted out',
  pod: 'the Pod does not ask for injection, or has opted out',
  rest: 'the Pod asks for injection and has it already',
  services: '',
};
