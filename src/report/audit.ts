import { type FindingCode, findings } from '../inject/audit.js';
import type { Paint } from './colour.js';
import { columns } from './table.js';

/** A finding about one Pod; `audit -o json` prints a list of these. */
export interface AuditRow {
  readonly namespace: string;
  readonly pod: string;
  readonly owner: string;
  readonly finding: FindingCode;
  readonly detail: string;
  /** What makes the Pods of this owner anew. */
  readonly command: string;
}

interface Group extends AuditRow {
  pods: number;
}

/** More owners than a person reads; what is over is counted. */
const mostGroups = 2000;

/** Gathers findings by owner, since it is the owner that is rolled out anew. */
export class AuditReport {
  readonly #groups = new Map<string, Group>();
  readonly counts = new Map<FindingCode, number>();
  readonly #commands = new Set<string>();
  #left = 0;

  add(row: AuditRow): void {
    this.counts.set(row.finding, (this.counts.get(row.finding) ?? 0) + 1);
    if (this.#commands.size < mostGroups) this.#commands.add(row.command);
    const key = JSON.stringify([row.namespace, row.owner, row.finding]);
    const known = this.#groups.get(key);
    if (known !== undefined) known.pods++;
    else if (this.#groups.size < mostGroups) this.#groups.set(key, { ...row, pods: 1 });
    else this.#left++;
  }

  get found(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** What a person reads: the owners, why, and the commands to run. */
  text(looked: number, paint: Paint): string {
    if (this.found === 0) return `${paint('green', '√')} ${count(looked, 'Pod')}, nothing to do\n`;
    const groups = [...this.#groups.values()];
    const rows = groups.map(({ namespace, owner, pods, finding, detail }) => [
      namespace,
      owner,
      String(pods),
      finding,
      detail,
    ]);
    const totals = [...this.counts].map(([finding, number]) => `${number} ${findings[finding]}`);
    return `${[
      ...columns([['NAMESPACE', 'OWNER', 'PODS', 'FINDING', 'DETAIL'], ...rows]),
      ...(this.#left > 0 ? [`and ${count(this.#left, 'Pod')} more; -o json has them all`] : []),
      '',
      `${paint('yellow', '‼')} of ${count(looked, 'Pod')}: ${totals.join(', ')}`,
      '',
      'To give them what they would get today:',
      ...[...this.#commands].map((command) => `  ${command}`),
    ].join('\n')}\n`;
  }
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
