import type { Verdict } from '../inject/inject.js';
import type { Origin } from '../inject/origin.js';

/** Counts what became of the objects of a run. */
export class Tally {
  injected = 0;
  skipped = 0;
  /** Objects without a Pod template that were told something: opaque ports, opt-in. */
  annotated = 0;
  others = 0;
  /** Asked for injection and did not get it. */
  missing = 0;

  add(verdict: Verdict, origin: Origin): void {
    if (verdict.subject.is !== 'workload') {
      if (verdict.additions.length > 0) this.annotated++;
      else this.others++;
    } else if (verdict.outcome === 'inject') this.injected++;
    else this.skipped++;
    if (missed(verdict, origin)) this.missing++;
  }
}

const wrongWords: readonly string[] = [
  'invalid_inject_annotation_at_ns',
  'invalid_inject_annotation_at_workload',
  'invalid_signet_inject_at_workload',
];

/** True of a workload that somebody wants injected and that is not, and has no proxy yet either. */
export function missed({ subject, outcome, reason, askedBy }: Verdict, origin: Origin): boolean {
  if (subject.is !== 'workload' || outcome === 'inject') return false;
  // For the webhook a sidecar that is there is well; where everything is injected anew it is somebody else's.
  if ((reason === 'sidecar_already_exists' || reason === 'identity_already_there') && origin.needsOptIn) return false;
  const saysItWrong = wrongWords.includes(reason);
  return (
    askedBy !== undefined || saysItWrong || (!origin.needsOptIn && reason !== 'injection_disable_annotation_present')
  );
}

/** One line at the end of a run. */
export function summaryOf({ injected, skipped, annotated, others }: Tally): string {
  const parts = [`${injected} injected`, `${skipped} skipped`];
  if (annotated > 0) parts.push(`${annotated} annotated`);
  if (others > 0) parts.push(`${others} other ${others === 1 ? 'object' : 'objects'}`);
  return `signet: ${parts.join(', ')}`;
}
