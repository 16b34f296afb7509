import { readFileSync, writeFileSync } from 'node:fs';
import { type Flag, flags } from '../src/commands/flags.js';
import { verbs } from '../src/commands/verbs.js';
import { otherReasons } from '../src/inject/decide/decide.js';
import { rules } from '../src/inject/decide/rules.js';
import { annotations } from '../src/inject/settings/annotations.js';
import { templates } from '../src/inject/workload.js';
import { table } from '../src/values/keys.js';
import { eachLeaf } from '../src/values/schema.js';

// Writes the tables of the README from the tables of the program, so that they cannot say anything else.

function rows(head: readonly string[], body: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n');
}

const code = (text: string) => `\`${text}\``;

function valueRows(wanted: (key: string) => boolean): string[][] {
  const body: string[][] = [];
  eachLeaf(table, (path, leaf) => {
    const key = path.join('.');
    if (wanted(key)) body.push([code(key), code(JSON.stringify(leaf.fallback)), leaf.help]);
  });
  return body;
}

const tables: { readonly [name: string]: () => string } = {
  verbs: () =>
    rows(
      ['command', 'what it does'],
      Object.entries(verbs).map(([name, { summary }]) => [code(`signet ${name}`), summary]),
    ),
  flags: () =>
    rows(
      ['flag', 'of', 'meaning'],
      Object.entries<Flag>(flags)
        .filter(([name]) => name !== 'help')
        .map(([name, flag]) => {
          const written = `${flag.short === undefined ? '' : `-${flag.short}, `}--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`;
          const of = Object.entries(verbs)
            .filter(([, verb]) => verb.flags.some((one) => one === name))
            .map(([verb]) => verb);
          return [code(written), of.join(', '), flag.help];
        }),
    ),
  annotations: () =>
    rows(
      ['annotation', 'value', 'inherited', 'meaning'],
      [
        ...annotations.map(({ key, expected, inherited, help }) => [code(key), expected, inherited ? 'yes' : '', help]),
        [
          code('config.linkerd.io/proxy-additional-env'),
          'JSON array of EnvVar',
          'merged',
          'environment variables to append to the proxy',
        ],
        [code('resource.opentelemetry.io/NAME'), 'text', '', 'attribute NAME of every span, where tracing is on'],
      ],
    ),
  reasons: () =>
    rows(
      ['reason', 'what it says', 'what to do'],
      [
        ...rules.map(({ code: reason, says, advice }) => [code(reason), says, advice]),
        ...Object.entries(otherReasons).map(([reason, says]) => [code(reason), says, '']),
      ],
    ),
  kinds: () =>
    rows(
      ['kind', 'Pod template at'],
      templates.map(({ kind, group, path }) => [
        group === undefined ? kind : `${kind} (${group})`,
        path.length === 0 ? 'the object itself' : code(path.join('.')),
      ]),
    ),
  'signet-values': () =>
    rows(
      ['key', 'default', 'meaning'],
      valueRows((key) => key.startsWith('signet.')),
    ),
  'linkerd-values': () =>
    rows(
      ['key', 'default', 'meaning'],
      valueRows((key) => !key.startsWith('signet.')),
    ),
};

/** The README with its tables made anew. */
export function withTables(text: string): string {
  return text.replaceAll(
    /(<!-- table: ([\w-]+) -->\n)(?:(?!<!-- table)[\s\S])*?(<!-- end -->)/g,
    (_all, open: string, name: string, close: string) => {
      const make = tables[name];
      if (make === undefined) throw new Error(`the README asks for a table ${name}, which there is not`);
      return `${open}\n${make()}\n\n${close}`;
    },
  );
}

if (process.argv[1]?.endsWith('scripts/docs.js'))
  writeFileSync('README.md', withTables(readFileSync('README.md', 'utf8')));
