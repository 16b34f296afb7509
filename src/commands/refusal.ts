import type { ManifestError } from '../manifest/errors.js';
import { errorAt } from '../manifest/locate.js';
import type { Manifest } from '../manifest/parse.js';
import { type Judged, nameOf } from './transform.js';

/** A Pod that the webhook would refuse, as a mistake in the file, at the annotation or item it is about. */
export function refusalError(manifest: Manifest, { path, verdict }: Judged): ManifestError {
  const template = verdict.subject.is === 'workload' ? verdict.subject.workload.path : [];
  const fatal = verdict.plan?.settings.problems.find(({ effect, on }) => effect === 'refused' && on === 'workload');
  const clash = / at (\/\S*)$/.exec(verdict.message)?.[1];
  const inside =
    fatal !== undefined
      ? [...template, 'metadata', 'annotations', fatal.annotation]
      : (clash?.slice(1).split('/') ?? []);
  return errorAt(
    manifest,
    [...path, ...inside],
    `${nameOf(verdict)} would be refused (${verdict.reason}): ${verdict.message}; ${verdict.advice}`,
  );
}
