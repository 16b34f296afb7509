import { readFileSync, writeFileSync } from 'node:fs';
import { type Flag, flags } from '../src/commands/flags.js';
import { main } from '../src/commands/main.js';
import { verbs } from '../src/commands/verbs.js';
import { otherReasons } from '../src/inject/decide/decide.js';
import { rules } from '../src/inject/decide/rules.js';
import { annotations } from '../src/inject/settings/annotations.js';
import { templates } from '../src/inject/workload.js';
import { components } from '../src/install/components.js';
import { permissions, targetOf } from '../src/install/permissions.js';
import { Metrics } from '../src/server/metrics.js';
import { table } from '../src/values/keys.js';
import { eachLeaf } from '../src/values/schema.js';
import { defaultOptions } from './manifests.js';

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
    if (wanted(key)) body.push([code(key), leaf.expected, code(JSON.stringify(leaf.fallback)), leaf.help]);
  });
  return body;
}

/** What is exported; the parts that Node itself adds are not listed, because there are none. */
function metricRows(): string[][] {
  const all = new Metrics().registry.getMetricsAsArray();
  return all.map((metric) => [
    code(metric.name),
    'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.join(', ') : '',
    'help' in metric ? String(metric.help) : '',
  ]);
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
        .filter(([name]) => Object.values(verbs).some((verb) => verb.flags.some((one) => one === name)))
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
        [code('signet.dev/inject'), 'identity', '', 'identity alone, without a proxy; as label, too'],
        [code('signet.dev/identity'), 'a source or the name of a profile', '', 'where the identity comes from'],
        [
          code('signet.dev/workload-api-containers'),
          'names of containers',
          '',
          'containers of the Pod that get the Workload API or, with identity alone, the identity',
        ],
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
  metrics: () => rows(['metric', 'labels', 'meaning'], metricRows()),
  components: () =>
    rows(
      ['component', 'by default', 'what it adds'],
      Object.entries(components).map(([name, { help, isDefault }]) => [code(name), isDefault ? 'yes' : '', help]),
    ),
  permissions: () =>
    rows(
      ['verbs', 'on', 'in', 'component', 'why'],
      permissions.map((one) => [
        one.verbs.join(', '),
        `${targetOf(one)}${one.names === undefined ? '' : ` ${one.names(defaultOptions()).join(', ')}`}`,
        one.scope === 'own' ? 'its own namespace' : 'the cluster',
        one.component,
        one.why,
      ]),
    ),
  licences: () => rows(['package', 'version', 'licence'], bundledPackages()),
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
      ['key', 'value', 'default', 'meaning'],
      valueRows((key) => key.startsWith('signet.')),
    ),
  'linkerd-values': () =>
    rows(
      ['key', 'value', 'default', 'meaning'],
      valueRows((key) => !key.startsWith('signet.')),
    ),
};

/** The packages of the bundle, as the build has listed them. */
export function bundledPackages(): string[][] {
  const [, list = ''] = readFileSync('dist/LICENCES.txt', 'utf8').split('\n\n');
  return list.split('\n').map((line) => line.split(' '));
}

/** What a command prints, without colour. */
async function outputOf(line: string): Promise<string> {
  let text = '';
  const take = (piece: string | Uint8Array) => {
    text += Buffer.from(piece).toString();
  };
  await main(line.split(' '), { out: take, err: () => {}, isColoured: false, showsProgress: false });
  return text;
}

/** The README with its tables made anew, and its examples run again. */
export async function withTables(text: string): Promise<string> {
  const parts = text.split(/(<!-- (?:table|run): [^\n]+ -->\n[\s\S]*?<!-- end -->)/);
  return (await Promise.all(parts.map(madeAnew))).join('');
}

async function madeAnew(part: string): Promise<string> {
  const [, open, what = '', argument = ''] = /^(<!-- (table|run): ([^\n]+) -->\n)/.exec(part) ?? [];
  if (open === undefined) return part;
  if (what === 'run')
    return `${open}\n\`\`\`console\n$ signet ${argument}\n${await outputOf(argument)}\`\`\`\n\n<!-- end -->`;
  const make = tables[argument];
  if (make === undefined) throw new Error(`the README asks for a table ${argument}, which there is not`);
  return `${open}\n${make()}\n\n<!-- end -->`;
}

if (process.argv[1]?.endsWith('scripts/docs.js'))
  for (const file of ['README.md', 'SECURITY.md']) writeFileSync(file, await withTables(readFileSync(file, 'utf8')));
