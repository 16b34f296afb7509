import type { JsonObject } from '../json.js';
import { type Addition, addGrants, addMetadata, addParts, Collector, type Kept, keptAsJson } from './additions.js';
import { type Decision, decide, otherReasons, type ReasonCode } from './decide/decide.js';
import { askedBy, type Namespace, type OptIn, optInOf } from './decide/opt-in.js';
import type { Outcome, Rule } from './decide/rules.js';
import { unseenFeatures } from './identity/features.js';
import type { Mesh } from './mesh.js';
import { metadataFor } from './metadata.js';
import { notesOnNamespace, notesOnService, notesOnSkipped } from './notes.js';
import type { Origin } from './origin.js';
import { type Plan, planner } from './plan.js';
import { enforcedLevel, violations, violationText } from './pod-security.js';
import type { Problem } from './settings/problems.js';
import type { Settings } from './settings/settle.js';
import { examine, type Subject, type TemplateRow, type Workload } from './workload.js';

/** What is asked: an object, the namespace it belongs to, and how it came here. */
export interface Request {
  readonly object: JsonObject;
  readonly namespace: Namespace;
  readonly origin: Origin;
  readonly templates?: readonly TemplateRow[];
  readonly kept?: Kept;
}

/** What is answered: one outcome, one reason, the way to it, and the additions, if any. */
export interface Verdict {
  readonly subject: Subject;
  readonly outcome: Outcome;
  readonly reason: ReasonCode;
  readonly message: string;
  readonly advice: string;
  readonly passed: readonly Rule[];
  readonly optIn: OptIn;
  readonly askedBy: 'namespace' | 'workload' | undefined;
  /** What was worked out for the Pod; nothing where a rule decided before. */
  readonly plan: Plan | undefined;
  readonly additions: readonly Addition[];
  readonly warnings: readonly string[];
}

/** The whole way of an object through signet: look at it, decide, settle its values, build the parts, list the additions. */
export function inject(mesh: Mesh, request: Request): Verdict {
  const subject = examine(request.object, request.templates);
  return subject.is === 'workload' ? injectWorkload(mesh, request, subject.workload) : noteOnly(mesh, request, subject);
}

function injectWorkload(mesh: Mesh, request: Request, workload: Workload): Verdict {
  const { namespace, origin } = request;
  const subject: Subject = { is: 'workload', workload };
  const optIn = optInOf(namespace, workload.labels, workload.annotations);
  const plan = planner(mesh, workload, namespace, optIn, origin);
  const decision = decide({ workload, namespace, optIn, values: mesh.values, origin, mesh, plan });
  if (decision.outcome === 'refuse') return verdict(subject, optIn, decision, plan());
  if (decision.outcome === 'skip') {
    return verdict(subject, optIn, decision, undefined, notesOnSkipped(mesh, request, workload, decision, optIn));
  }

  const planned = plan();
  const { settings, parts, targets } = planned;
  const fatal = settings.problems.find(({ effect }) => effect === 'refused');
  if (fatal !== undefined) return verdict(subject, optIn, refusal(fatal, decision), planned);

  const { values } = settings;
  const { annotations, labels, warnings } = metadataFor(mesh, settings, workload, namespace, origin, optIn.alone);
  const collector = new Collector(request.object, workload.path, request.kept ?? keptAsJson);
  addMetadata(collector, annotations, labels);
  addGrants(collector, parts, targets);
  addParts(collector, parts, { native: values.proxy.nativeSidecar, awaits: values.proxy.await });
  if (values.signet.record) collector.record();
  return verdict(subject, optIn, decision, planned, collector.additions, [
    ...settings.problems.map(sentence),
    ...warnings,
    ...warningsOnPlan(mesh, planned, namespace),
  ]);
}

/** What whoever creates the Pod ought to know although it is injected. */
function warningsOnPlan(mesh: Mesh, { parts, settings }: Plan, namespace: Namespace): readonly string[] {
  const level = enforcedLevel(namespace);
  const found = level === undefined ? [] : violations(parts, level);
  const security = level === undefined || found.length === 0 ? [] : [violationText(level, found)];
  return [...security, ...unseenFeatures(mesh.features, parts), ...idleSwitch(settings)];
}

/** The socket is the identity itself there, and cannot be switched off beside it. */
function idleSwitch({ applied, choice }: Settings): readonly string[] {
  const off = applied.find(({ change }) => change.path === 'signet.spire.enabled' && change.value === false);
  return off === undefined || choice.source !== 'spire'
    ? []
    : [`annotation ${off.annotation} on the Pod has no effect: its identity comes from SPIRE`];
}

/** Services are told their opaque ports, a Namespace may be opted in; nothing else is touched. */
function noteOnly(mesh: Mesh, request: Request, subject: Exclude<Subject, { is: 'workload' }>): Verdict {
  const decision = {
    outcome: 'skip',
    reason: 'unsupported_resource',
    message: otherReasons.unsupported_resource,
    advice: '',
    passed: [],
  } as const;
  return verdict(
    subject,
    { namespace: '', workload: '', alone: false },
    decision,
    undefined,
    otherNotes(mesh, request, subject),
  );
}

/** Written out member by member: V8 makes objects out of several spreads so that they outlive a small collection. */
function verdict(
  subject: Subject,
  optIn: OptIn,
  { outcome, reason, message, advice, passed }: Decision,
  plan?: Plan,
  additions: readonly Addition[] = [],
  warnings: readonly string[] = [],
): Verdict {
  return {
    subject,
    outcome,
    reason,
    message,
    advice,
    passed,
    optIn,
    askedBy: askedBy(optIn),
    plan,
    additions,
    warnings,
  };
}

function otherNotes(mesh: Mesh, request: Request, subject: Subject): readonly Addition[] {
  if (subject.is === 'namespace') return notesOnNamespace(mesh, request);
  return subject.is === 'service' ? notesOnService(mesh, request, subject) : [];
}

function refusal(problem: Problem, { passed }: Decision): Decision {
  const reason = problem.cause === 'denied' ? 'override_denied' : 'invalid_annotation';
  const advice = 'correct the annotation, or take it off';
  return { outcome: 'refuse', reason, message: sentence(problem), advice, passed };
}

/** An annotation that was not followed: which, where, what it says, what was expected. */
export function sentence({ annotation, on, value, expected, effect }: Problem): string {
  const shown = value.length > 80 ? `${value.slice(0, 77)}…` : value;
  const where = on === 'workload' ? 'on the Pod' : 'on the namespace';
  return `annotation ${annotation} ${where} is ${effect}: expected ${expected}, found ${JSON.stringify(shown)}`;
}
