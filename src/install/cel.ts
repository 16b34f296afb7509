import type { Condition } from '../inject/decide/conditions.js';

/** Writes a condition in CEL, every key guarded: a Pod without labels has no map of them, and reading it would fail the request. */
export function toCel(condition: Condition): string {
  if ('all' in condition) return condition.all.map(inner).join(' && ');
  if ('any' in condition) return condition.any.map(inner).join(' || ');
  if ('not' in condition) return `!(${toCel(condition.not)})`;
  if ('container' in condition)
    return ['initContainers', 'containers'].map((list) => hasContainer(list, condition.container)).join(' || ');
  if ('volumeOf' in condition)
    return `has(object.spec.volumes) && object.spec.volumes.exists(v, v.name in [${condition.volumeOf.map(quoted).join(', ')}])`;
  const { map, key, is } = condition;
  const path = `object.metadata.${map}`;
  const present = `has(${path}) && ${quoted(key)} in ${path}`;
  if (is.length === 0) return present;
  const value = `${path}[${quoted(key)}]`;
  return `${present} && ${is.length === 1 ? `${value} == ${quoted(is[0] ?? '')}` : `${value} in [${is.map(quoted).join(', ')}]`}`;
}

function inner(condition: Condition): string {
  const text = toCel(condition);
  return 'not' in condition ? text : `(${text})`;
}

function hasContainer(list: string, name: string): string {
  return `has(object.spec.${list}) && object.spec.${list}.exists(c, c.name == ${quoted(name)})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
