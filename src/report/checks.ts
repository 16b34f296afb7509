import type { Paint } from './colour.js';

/** What came of one check. */
export interface CheckResult {
  readonly group: string;
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was seen. */
  readonly detail: string;
  /** What to do about it; empty when all is well. */
  readonly hint: string;
  /** The section of the README that says more; empty when all is well. */
  readonly section: string;
}

const marks = { ok: ['green', '√'], warning: ['yellow', '‼'], failed: ['red', '×'], skipped: ['dim', '-'] } as const;

/** Checks for a person: a heading for each group, a line for each check, a hint where something is to be done. */
export function checksText(results: readonly CheckResult[], paint: Paint): string {
  const lines: string[] = [];
  for (const [index, { group, check, status, detail, hint, section }] of results.entries()) {
    if (group !== results[index - 1]?.group)
      lines.push(...(index > 0 ? [''] : []), paint('bold', group), '-'.repeat(group.length));
    const [colour, mark] = marks[status];
    lines.push(`${paint(colour, mark)} ${check}${detail === '' ? '' : `: ${detail}`}`);
    if (hint !== '') lines.push(`    ${hint}`);
    if (section !== '') lines.push(`    README: ${section}`);
  }
  const count = (wanted: CheckResult['status']) => results.filter(({ status }) => status === wanted).length;
  const [failed, warned, skipped] = [count('failed'), count('warning'), count('skipped')];
  const total = [
    results.length === 1 ? '1 check' : `${results.length} checks`,
    `${failed} failed`,
    warned === 1 ? '1 warning' : `${warned} warnings`,
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
  ].join(', ');
  return `${[...lines, '', `Status is ${failed > 0 ? paint('red', '×') : paint('green', '√')} (${total})`].join('\n')}\n`;
}
