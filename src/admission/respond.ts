import type { Addition } from '../inject/additions.js';
import { base64Of, type Piece, patchPieces } from './patch-text.js';

/** What is answered: let it pass, perhaps changed, or refuse it. */
export interface Answer {
  readonly allowed: boolean;
  readonly additions: readonly Addition[];
  readonly warnings: readonly string[];
  /** The code of the reason, for the audit log. */
  readonly reason: string;
  /** The sentence that the user sees when the object is refused. */
  readonly message: string;
}

/** An answer as text, but for the uid that it answers: its large parts were serialised before. */
export interface Written {
  readonly allowed: boolean;
  /** The JSON Patch; empty where nothing is changed. */
  readonly patch: readonly Piece[];
  /** The other members. */
  readonly rest: string;
}

/** Warnings over this many characters may be cut off by the API server (`AdmissionResponse.warnings`). */
const longestWarning = 256;

/** Writes everything of an answer that can be written before it is known who asks. */
export function written({ allowed, additions, warnings, reason, message }: Answer): Written {
  const audit = `"auditAnnotations":{"reason":${JSON.stringify(reason)}}`;
  const warned = warnings.length === 0 ? '' : `"warnings":${JSON.stringify(warnings.map(cut))},`;
  if (allowed) return { allowed, patch: additions.length === 0 ? [] : patchPieces(additions), rest: warned + audit };
  const status = { status: 'Failure', message: `signet: ${message}`, reason: 'Forbidden', code: 403 };
  return { allowed, patch: [], rest: `"status":${JSON.stringify(status)},${warned}${audit}` };
}

/** The AdmissionReview that carries an answer. */
export function respond(uid: string, { allowed, patch, rest }: Written): string {
  const change = patch.length === 0 ? '' : `"patchType":"JSONPatch","patch":"${base64Of(patch)}",`;
  return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":${JSON.stringify(uid)},"allowed":${allowed},${change}${rest}}}`;
}

function cut(warning: string): string {
  return warning.length > longestWarning ? `${warning.slice(0, longestWarning - 1)}…` : warning;
}
