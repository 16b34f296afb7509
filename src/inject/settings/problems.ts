import type { Values } from '../../values/keys.js';
import { nearest } from '../../values/nearest.js';
import type { Invalid } from './parsers.js';

/** The text of an annotation, and on what it stands. */
export interface Source {
  readonly annotation: string;
  readonly text: string;
  readonly on: 'workload' | 'namespace';
}

/** An annotation that could not be followed. */
export interface Problem {
  readonly annotation: string;
  readonly on: 'workload' | 'namespace';
  readonly value: string;
  readonly expected: string;
  readonly cause: 'invalid' | 'denied' | 'unknown';
  readonly effect: 'ignored' | 'refused';
}

/** An annotation that the administrator does not let workloads set; what stands on the namespace is no workload's. */
export function denialOf({ signet }: Values, { annotation, text, on }: Source): Problem | undefined {
  const pattern = signet.overrides.deny.find((one) => matches(one, annotation));
  if (on === 'namespace' || pattern === undefined) return undefined;
  const expected = `no such annotation, because signet.overrides.deny has ${pattern}`;
  const effect = signet.onInvalidAnnotation === 'deny' ? 'refused' : 'ignored';
  return { annotation, on, value: text, expected, cause: 'denied', effect };
}

/** A configuration annotation that means nothing and looks like a slip of the finger; Linkerd passes it over in silence. */
export function slipOf({ annotation, text, on }: Source, known: readonly string[]): Problem | undefined {
  const near = nearest(annotation, known, 3);
  if (near === undefined) return undefined;
  return {
    annotation,
    on,
    value: text,
    expected: `a known annotation, perhaps ${near}`,
    cause: 'unknown',
    effect: 'ignored',
  };
}

/** An annotation of which nothing can be left out: what it asks for is given as a whole, or the Pod is refused. */
export function refusedProblem({ annotation, text, on }: Source, expected: string): Problem {
  return { annotation, on, value: text, expected, cause: 'invalid', effect: 'refused' };
}

function matches(pattern: string, key: string): boolean {
  return pattern.endsWith('*') ? key.startsWith(pattern.slice(0, -1)) : key === pattern;
}

/** An annotation whose value cannot be followed, or not all of it. */
export function misreadingOf(
  { signet }: Values,
  { annotation, on }: Source,
  value: string,
  found: Omit<Invalid, 'ok'>,
): Problem {
  const policy = signet.onInvalidAnnotation;
  const isRefused = policy === 'deny' || (policy === 'linkerd' && found.fatal === true);
  return {
    annotation,
    on,
    value,
    expected: found.expected,
    cause: 'invalid',
    effect: isRefused ? 'refused' : 'ignored',
  };
}
