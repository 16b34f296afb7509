import { at, entryOf, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.js';

/** What a label selector asks for that labels do not have, as a person would say it; nothing when it selects them. */
export function whyNotSelected(selector: Json | undefined, labels: JsonObject): string | undefined {
  for (const key of Object.keys(objectAt(selector, 'matchLabels'))) {
    const wanted = entryOf(objectAt(selector, 'matchLabels'), key);
    if (entryOf(labels, key) !== wanted) return `label ${key} is ${shown(labels, key)}, not ${wanted}`;
  }
  for (const one of listAt(selector, 'matchExpressions')) {
    const unmet = whyNotMet(one, labels);
    if (unmet !== undefined) return unmet;
  }
  return undefined;
}

function whyNotMet(expression: Json, labels: JsonObject): string | undefined {
  const key = textAt(expression, 'key') ?? '';
  const values = listAt(expression, 'values').map(String);
  const value = entryOf(labels, key);
  switch (at(expression, 'operator')) {
    case 'In':
      return value !== undefined && values.includes(value)
        ? undefined
        : `label ${key} is ${shown(labels, key)}, none of ${values.join(', ')}`;
    case 'NotIn':
      return value === undefined || !values.includes(value) ? undefined : `label ${key} is ${value}`;
    case 'Exists':
      return value === undefined ? `label ${key} is not there` : undefined;
    default:
      return value === undefined ? undefined : `label ${key} is there`;
  }
}

function shown(labels: JsonObject, key: string): string {
  return entryOf(labels, key) ?? 'not there';
}
