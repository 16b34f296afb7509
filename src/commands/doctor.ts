import { ApiError } from '../cluster/api.js';
import { type CheckResult, checksText } from '../report/checks.js';
import { painter } from '../report/colour.js';
import { apiFrom, homeOf } from './cluster.js';
import { certificateChecks } from './doctor/certificates.js';
import { apiChecks, capabilityChecks, workloadChecks } from './doctor/cluster.js';
import { beware, broken, type Check, Context, type Said } from './doctor/context.js';
import { dryRunChecks } from './doctor/dry-run.js';
import { registrationChecks } from './doctor/registration.js';
import { trustChecks } from './doctor/trust.js';
import { Failure } from './failure.js';
import type { Given } from './flags.js';
import type { Terminal } from './terminal.js';

/** Every check in the order of the report: from the ground up, so that the first that fails is the one to look at. */
export const checks: readonly Check[] = [
  ...apiChecks,
  ...registrationChecks,
  ...workloadChecks,
  ...certificateChecks,
  ...trustChecks,
  ...capabilityChecks,
  ...dryRunChecks,
];

/** Checks an installation. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const format = given.last('output') ?? 'text';
  if (format !== 'text' && format !== 'json')
    throw new Failure(`--output takes json here; found ${JSON.stringify(format)}`);
  const context = new Context(apiFrom(given), homeOf(given));
  const results: CheckResult[] = [];
  let missing: string | undefined;
  for (const check of checks) {
    const { group, check: name } = check;
    const result =
      missing === undefined
        ? await resultOf(check, context)
        : { group, check: name, status: 'skipped' as const, detail: missing, hint: '', section: '' };
    results.push(result);
    if (result.status === 'failed') missing ??= check.without;
  }
  terminal.out(
    format === 'json'
      ? `${JSON.stringify(results, undefined, 2)}\n`
      : checksText(results, painter(terminal.isColoured)),
  );
  return results.some(({ status }) => status === 'failed') ? 1 : 0;
}

async function resultOf({ group, check, section, run: look }: Check, context: Context): Promise<CheckResult> {
  const said = await look(context).catch((error: unknown): Said => {
    const detail = error instanceof Error ? error.message : String(error);
    return isForbidden(error)
      ? beware(detail, 'run signet doctor as somebody who may look')
      : broken(detail, 'it could not be looked at; the message is of the API server, or of the way there');
  });
  return {
    group,
    check,
    status: said.status,
    detail: said.detail,
    hint: said.hint ?? '',
    section: said.hint ? section : '',
  };
}

/** Whoever runs doctor lacks a right, which says nothing of the installation. */
function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403 && /cannot [\w:-]+ (resource|path)/.test(error.message);
}
