import { identityName } from '../inject/identity/naming.js';
import { serviceAccountOf, type Verdict } from '../inject/inject.js';
import type { Mesh } from '../inject/mesh.js';
import type { Problem } from '../inject/settings/problems.js';
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
  /** The name that peers will verify; null when nothing is injected. */
  readonly identity: string | null;
  readonly settings: readonly {
    readonly key: string;
    readonly value: Json;
    readonly default: Json;
    readonly origin: string;
  }[];
  readonly rejected: readonly Problem[];
  readonly warnings: readonly string[];
}

/** Where the object stands. */
export interface Standing {
  readonly file: string;
  readonly line: number;
  readonly namespace: string;
}

/** Tells what becomes of an object and why. */
export function explanationOf(mesh: Mesh, verdict: Verdict, { file, line, namespace }: Standing): Explanation {
  const { subject, settings } = verdict;
  const { kind, name } = subject.is === 'workload' ? subject.workload : subject;
  const isInjected = subject.is === 'workload' && verdict.outcome === 'inject';
  const changed = isInjected ? changedSettings(mesh, settings) : [];
  return {
    object: { kind: kind.toLowerCase(), name, namespace, file, line },
    outcome: verdict.outcome,
    reason: verdict.reason,
    message: verdict.message,
    advice: verdict.advice,
    askedBy: verdict.askedBy ?? null,
    passed: verdict.passed.map(({ code }) => code),
    identity: isInjected
      ? identityName(settings?.values ?? mesh.values, serviceAccountOf(subject.workload), namespace || '<namespace>')
      : null,
    settings: changed.map((row) => ({ ...row, origin: settingOriginText(row.origin) })),
    rejected: settings?.problems ?? [],
    warnings: verdict.warnings,
  };
}

const outcomes = {
  inject: ['green', 'injected'],
  skip: ['yellow', 'not injected'],
  refuse: ['red', 'refused'],
} as const;

const widest = 110;

/** The same for a person. */
export function explanationText(one: Explanation, paint: Paint): string {
  const { object } = one;
  const [colour, word] = outcomes[one.outcome];
  const head = `${paint('bold', `${object.kind}/${object.name || '(no name)'}`)} in namespace ${object.namespace || '(none)'} (${object.file}:${object.line})`;
  const lines = [
    head,
    `  outcome   ${paint(colour, word)} [${one.reason}]`,
    ...wrapped('  because   ', one.message.split(' ')),
  ];
  if (one.advice !== '' && one.outcome !== 'inject') lines.push(...wrapped('  to do     ', one.advice.split(' ')));
  if (one.askedBy !== null) lines.push(`  asked by  the ${one.askedBy === 'workload' ? 'Pod' : 'namespace'}`);
  if (one.identity !== null) lines.push(`  identity  ${one.identity}`);
  if (one.passed.length > 0) lines.push(...wrapped('  passed    ', one.passed.join(', ').split(' ')));
  lines.push(...settingLines(one), ...rejectedLines(one, paint));
  const other = one.warnings.filter((warning) => !one.rejected.some(({ annotation }) => warning.includes(annotation)));
  lines.push(...other.flatMap((warning) => wrapped('  warning   ', warning.split(' '))));
  return `${lines.join('\n')}\n`;
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
