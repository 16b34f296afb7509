import type { Namespace } from '../inject/decide/opt-in.js';
import { mountsConfigMap } from '../inject/identity/trust-roots.js';
import { inject, type Verdict } from '../inject/inject.js';
import type { Mesh } from '../inject/mesh.js';
import { createdBy, injectKey } from '../inject/names.js';
import { origins } from '../inject/origin.js';
import { entryOf } from '../json.js';
import { type About, aboutNothing, aboutVerdict } from './about.js';
import { type Answer, type Written, written } from './respond.js';
import type { Review } from './review.js';

/** What came of a review, for the answer, the log line and the metrics. */
export interface Admission {
  readonly outcome: 'injected' | 'noted' | 'skipped' | 'refused' | 'passed';
  readonly reason: string;
  readonly answer: Written;
  readonly about: About;
}

/** What a path of the registration knows of the objects that come on it. */
export interface Path {
  /** The API server has seen the opt-in label on the namespace, whatever the cache says. */
  readonly namespaceAsked: boolean;
  /** The namespace has no ConfigMap of trust roots, and nobody is about to make it. */
  readonly lacksTrustRoots?: boolean;
}

/** True of what there is something to do about: Pods and Services that are being created, not their subresources. */
export function concerns({ operation, kind, subresource }: Review): boolean {
  return operation === 'CREATE' && subresource === '' && (kind === 'Pod' || kind === 'Service');
}

/** An empty answer for everything else. */
export function pass(review: Review): Admission {
  const answer = { allowed: true, additions: [], warnings: [], reason: 'not_concerned', message: '' };
  return { outcome: 'passed', reason: answer.reason, answer: written(answer), about: aboutNothing(review) };
}

/** Judges what is about to be created, and writes the answer. */
export function admit(mesh: Mesh, review: Review, namespace: Namespace, path: Path): Admission {
  const known = path.namespaceAsked ? withOptIn(namespace) : namespace;
  const object = review.object.kind === undefined ? { ...review.object, kind: review.kind } : review.object;
  const verdict = inject(mesh, { object, namespace: known, origin: origins.webhook });
  const reason = isOurs(verdict) ? 'already_injected' : verdict.reason;
  const additions = reason === 'already_injected' ? [] : verdict.additions;
  const isRefused = verdict.outcome === 'refuse' && verdict.askedBy !== undefined;
  const answer: Answer = {
    allowed: !isRefused,
    additions: isRefused ? [] : additions,
    warnings: reason === 'already_injected' ? [] : [...warningsOf(verdict), ...missingRoots(verdict, path)],
    reason,
    message: `${verdict.message}; ${verdict.advice} [${verdict.reason}]`,
  };
  const outcome = outcomeOf(verdict, isRefused, answer);
  return { outcome, reason, answer: written(answer), about: aboutVerdict(review, verdict) };
}

/** The cache may lag behind the label by which the API server chose the path. */
function withOptIn(namespace: Namespace): Namespace {
  const said = entryOf(namespace.labels, injectKey);
  return said === 'enabled' || said === 'ingress'
    ? namespace
    : { ...namespace, labels: { ...namespace.labels, [injectKey]: 'enabled' } };
}

/** A Pod that comes a second time: containers show it, and what they show bears our signature. */
function isOurs({ subject, reason }: Verdict): boolean {
  const isThere = reason === 'sidecar_already_exists' || reason === 'identity_already_there';
  if (!isThere || subject.is !== 'workload') return false;
  return entryOf(subject.workload.annotations, createdBy)?.startsWith('signet') === true;
}

/** Whoever asked for injection and does not get it hears why, also in a word that nobody knows; nobody else hears anything. */
function warningsOf(verdict: Verdict): readonly string[] {
  const { subject, outcome, askedBy, message, reason, warnings } = verdict;
  const isMeant = askedBy !== undefined || reason.startsWith('invalid_');
  if (subject.is !== 'workload' || outcome === 'inject' || !isMeant) return warnings.map((one) => `signet: ${one}`);
  return [`signet: not injected: ${message} [${reason}]`];
}

/** A Pod that waits for a ConfigMap stays in ContainerCreating, and says so only to those who know where to look. */
function missingRoots({ outcome, plan, subject }: Verdict, { lacksTrustRoots }: Path): readonly string[] {
  if (lacksTrustRoots !== true || outcome !== 'inject' || plan === undefined || subject.is !== 'workload') return [];
  const { source, configMap } = plan.settings.values.signet.trustRoots;
  return source === 'configMap' && mountsConfigMap(plan.parts, configMap.name)
    ? [
        `signet: ConfigMap ${configMap.name} is not in this namespace; the Pod will wait in ContainerCreating until it is`,
      ]
    : [];
}

function outcomeOf({ outcome, subject }: Verdict, isRefused: boolean, { additions }: Answer): Admission['outcome'] {
  if (isRefused) return 'refused';
  if (outcome === 'inject') return 'injected';
  if (additions.length > 0) return 'noted';
  return subject.is === 'workload' ? 'skipped' : 'passed';
}
