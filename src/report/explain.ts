import type { Namespace } from '../inject/decide/opt-in.js';
import { type Choice, labelCount } from '../inject/identity/choose.js';
import { readerOf } from '../inject/identity/layouts.js';
import { identityName } from '../inject/identity/naming.js';
import type { Verdict } from '../inject/inject.js';
import type { Mesh } from '../inject/mesh.js';
import { identityKey } from '../inject/names.js';
import type { Plan } from '../inject/plan.js';
import { enforcedLevel, type Level, type Violation, violations } from '../inject/pod-security.js';
import type { Problem } from '../inject/settings/problems.js';
import { serviceAccountOf, type Workload } from '../inject/workload.js';
import type { Json } from '../json.js';
import type { Paint } from './colour.js';
import { changedSettings, settingOriginText } from './settings.js';
import { brief, columns } from './table.js';

/** What is said of one object; `explain -o json` prints a list of these. */
export interface Explanation {
  readonly object: {
    readonly kind: string;
    readonly name: string;
    readonly namespace: string;
    readonly file: string;
    readonly line: number;
  };
  readonly outcome: 'inject' | 'skip' | 'refuse';
  /** A code of the table of reasons. */
  readonly reason: string;
  readonly message: string;
  readonly advice: string;
  /** Who asked for injection, if anybody did. */
  readonly askedBy: 'namespace' | 'workload' | null;
  /** The rules that were asked before the deciding one, all of which passed. */
  readonly passed: readonly string[];
  /** The name that peers verify; null where that is not Linkerd's to say, or nothing is injected. */
  readonly identity: string | null;
  /** What SPIRE is asked for; null for a Pod without its socket. */
  readonly spiffeId: string | null;
  /** Where it comes from, and why; null when nothing is injected. */
  readonly source: SourceExplanation | null;
  /** The level that the namespace enforces, and what of ours it forbids; null when it enforces none. */
  readonly podSecurity: { readonly level: Level; readonly violations: readonly Violation[] } | null;
  readonly settings: readonly {
    readonly key: string;
    readonly value: Json;
    readonly default: Json;
    readonly origin: string;
  }[];
  readonly rejected: readonly Problem[];
  readonly warnings: readonly string[];
}

/** Which identity a Pod gets, and why this one. */
export interface SourceExplanation {
  readonly source: string;
  readonly profile: string | null;
  readonly why: string;
  /** Profiles that select the Pod as well. */
  readonly lost: readonly { readonly name: string; readonly why: string }[];
}

/** Where the object stands. */
export interface Standing {
  readonly file: string;
  readonly line: number;
  readonly namespace: Namespace;
}

/** Tells what becomes of an object and why. */
export function explanationOf(mesh: Mesh, verdict: Verdict, { file, line, namespace }: Standing): Explanation {
  const { subject, plan } = verdict;
  const settings = plan?.settings;
  const { kind, name } = subject.is === 'workload' ? subject.workload : subject;
  const isInjected = subject.is === 'workload' && verdict.outcome !== 'skip';
  const changed = isInjected ? changedSettings(mesh, settings) : [];
  return {
    object: { kind: kind.toLowerCase(), name, namespace: namespace.name, file, line },
    outcome: verdict.outcome,
    reason: verdict.reason,
    message: verdict.message,
    advice: verdict.advice,
    askedBy: verdict.askedBy ?? null,
    passed: verdict.passed.map(({ code }) => code),
    identity: isInjected && plan !== undefined ? identityOf(plan, subject.workload, namespace) : null,
    spiffeId: plan?.spiffeId !== undefined && 'id' in plan.spiffeId && isInjected ? plan.spiffeId.id : null,
    source: isInjected && plan !== undefined ? sourceOf(plan) : null,
    podSecurity: isInjected && plan !== undefined ? securityOf(plan, namespace) : null,
    settings: changed.map((row) => ({ ...row, origin: settingOriginText(row.origin) })),
    rejected: settings?.problems ?? [],
    warnings: verdict.warnings,
  };
}

function identityOf({ settings, parts }: Plan, workload: Workload, namespace: Namespace): string | null {
  const { values } = settings;
  if (readerOf(values, parts.proxy === undefined) !== 'linkerd') return null;
  return identityName(values, serviceAccountOf(workload), namespace.name || '<namespace>');
}

function sourceOf({ settings: { choice } }: Plan): SourceExplanation {
  const { profile, source, by, lost } = choice;
  return { source, profile: profile?.name ?? null, why: whyChosen(by, profile), lost };
}

function whyChosen(by: Choice['by'], profile: Choice['profile']): string {
  if (by === 'annotation')
    return `annotation ${identityKey} on the Pod${profile === undefined ? '' : ` names profile ${profile.name}`}`;
  if (by === 'values' || profile === undefined) return 'signet.identity.source, because no profile selects the Pod';
  return `profile ${profile.name} selects the Pod by ${labelCount(profile)}`;
}

function securityOf({ parts }: Plan, namespace: Namespace): Explanation['podSecurity'] {
  const level = enforcedLevel(namespace);
  return level === undefined ? null : { level, violations: violations(parts, level) };
}

const outcomes = {
  inject: ['green', 'injected'],
  skip: ['yellow', 'not injected'],
  refuse: ['red', 'refused'],
} as const;

const widest = 110;

/** The same for a person. */
export function explanationText(one: Explanation, paint: Paint, running?: string): string {
  const { object } = one;
  const [colour, word] = outcomes[one.outcome];
  const head = `${paint('bold', `${object.kind}/${object.name || '(no name)'}`)} in namespace ${object.namespace || '(none)'} (${object.line === 0 ? object.file : `${object.file}:${object.line}`})`;
  const lines = [
    head,
    ...(running === undefined ? [] : wrapped('  it runs   ', running.split(' '))),
    `  outcome   ${running === undefined ? '' : 'if it were created now: '}${paint(colour, word)} [${one.reason}]`,
    ...wrapped('  because   ', one.message.split(' ')),
  ];
  if (one.advice !== '' && one.outcome !== 'inject') lines.push(...wrapped('  to do     ', one.advice.split(' ')));
  if (one.askedBy !== null) lines.push(`  asked by  the ${one.askedBy === 'workload' ? 'Pod' : 'namespace'}`);
  if (one.identity !== null) lines.push(`  identity  ${one.identity}`);
  if (one.spiffeId !== null) lines.push(`  SPIFFE ID ${one.spiffeId}`);
  if (one.source !== null) lines.push(...sourceLines(one.source));
  if (one.podSecurity !== null) lines.push(...securityLines(one.podSecurity));
  if (one.passed.length > 0) lines.push(...wrapped('  passed    ', one.passed.join(', ').split(' ')));
  lines.push(...settingLines(one), ...rejectedLines(one, paint));
  const other = one.warnings.filter((warning) => !one.rejected.some(({ annotation }) => warning.includes(annotation)));
  lines.push(...other.flatMap((warning) => wrapped('  warning   ', warning.split(' '))));
  return `${lines.join('\n')}\n`;
}

function sourceLines({ source, why, lost }: SourceExplanation): string[] {
  return [
    ...wrapped('  source    ', `${source}: ${why}`.split(' ')),
    ...lost.map((one) => `            profile ${one.name} lost: ${one.why}`),
  ];
}

function securityLines({ level, violations: found }: NonNullable<Explanation['podSecurity']>): string[] {
  if (found.length === 0) return [`  security  the injected parts pass "${level}", which the namespace enforces`];
  const lines = found.map(({ part, breaks, help }) => `${part} ${breaks}; ${help}`);
  return [
    `  security  the namespace enforces "${level}", which the injected parts do not pass`,
    ...lines.flatMap((line) => wrapped('            ', line.split(' '))),
  ];
}

function settingLines({ settings }: Explanation): string[] {
  if (settings.length === 0) return [];
  const rows = settings.map(({ key, value, origin }) => [`    ${key}`, brief(value, 48), origin]);
  return ['  settings that differ from the defaults', ...columns(rows)];
}

function rejectedLines({ rejected }: Explanation, paint: Paint): string[] {
  if (rejected.length === 0) return [];
  const lines = rejected.flatMap(({ annotation, on, value, expected, effect }) => [
    `    ${annotation}: ${brief(value)}`,
    `      ${paint('yellow', effect)}, on the ${on === 'workload' ? 'Pod' : 'namespace'}: expected ${expected}`,
  ]);
  return ['  annotations that are not followed', ...lines];
}

/** Words in lines that fit a terminal, the later ones indented as the first. */
function wrapped(lead: string, words: readonly string[]): string[] {
  const lines: string[] = [];
  let line = lead;
  for (const word of words) {
    const gap = line === lead || line.endsWith(' ') ? '' : ' ';
    if (line.length + gap.length + word.length > widest && line.trim() !== '') {
      lines.push(line);
      line = ' '.repeat(lead.length) + word;
    } else line += gap + word;
  }
  return [...lines, line];
}
