import type { Addition } from '../inject/additions.js';
import { isArray, isObject, type Json, pointer } from '../json.js';

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

/** Warnings over this many characters may be cut off by the API server (`AdmissionResponse.warnings`). */
const longestWarning = 256;

/** An answer as text, but for the uid that it answers: its large parts were serialised before. */
export function answerText({ allowed, additions, warnings, reason, message }: Answer): string {
  const parts = [`"allowed":${allowed}`];
  if (allowed && additions.length > 0) {
    parts.push(`"patchType":"JSONPatch","patch":"${Buffer.from(patchText(additions)).toString('base64')}"`);
  }
  if (!allowed) {
    const status = { status: 'Failure', message: `signet: ${message}`, reason: 'Forbidden', code: 403 };
    parts.push(`"status":${JSON.stringify(status)}`);
  }
  if (warnings.length > 0) parts.push(`"warnings":${JSON.stringify(warnings.map(cut))}`);
  parts.push(`"auditAnnotations":{"reason":${JSON.stringify(reason)}}`);
  return parts.join(',');
}

/** The AdmissionReview that carries an answer. */
export function respond(uid: string, answer: string): string {
  return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":${JSON.stringify(uid)},${answer}}}`;
}

function cut(warning: string): string {
  return warning.length > longestWarning ? `${warning.slice(0, longestWarning - 1)}…` : warning;
}

/** The JSON Patch as text, equal to `JSON.stringify(patchOf(additions))`. */
export function patchText(additions: readonly Addition[]): string {
  const operations = additions.map(
    ({ path, value }) => `{"op":"add","path":${JSON.stringify(pointer(path))},"value":${jsonOf(value)}}`,
  );
  return `[${operations.join(',')}]`;
}

const texts = new WeakMap<object, string>();

/** Containers and volumes come as the same objects again and again, and are turned into text once. */
function jsonOf(value: Json): string {
  if (!isObject(value) && !isArray(value)) return JSON.stringify(value);
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}
