import { type Case, isAudited, type Outcome, type Rule, rules } from './rules.js';

/** Why a Pod is injected or not: a code of the rule table, or of what comes after it. */
export type ReasonCode = (typeof rules)[number]['code'] | keyof typeof otherReasons;

/** Reasons that no rule about the Pod gives. */
export const otherReasons = {
  injected: 'injection was asked for, and nothing speaks against it',
  override_denied: 'the Pod sets an annotation that the administrator does not allow',
  invalid_annotation: 'an annotation has a value that cannot be followed',
  unsupported_resource: 'this kind of object has no Pod template',
} as const;

/** What the rules say of a Pod. */
export interface Decision {
  readonly outcome: Outcome;
  readonly reason: ReasonCode;
  readonly message: string;
  readonly advice: string;
  /** The rules that were asked before, and passed. */
  readonly passed: readonly Rule[];
}

/** Asks one rule after the other until one applies. */
export function decide(one: Case): Decision {
  for (const [index, rule] of rules.entries()) {
    const detail = rule.finds(one);
    if (detail === undefined) continue;
    const message = detail === '' ? rule.says : `${rule.says}: ${detail}`;
    // In audit mode nothing is changed, and nothing is stopped.
    const outcome = 'outcome' in rule && !isAudited(one) ? rule.outcome(one) : 'skip';
    return { outcome, reason: rule.code, message, advice: rule.advice, passed: rules.slice(0, index) };
  }
  return { outcome: 'inject', reason: 'injected', message: otherReasons.injected, advice: '', passed: rules };
}
