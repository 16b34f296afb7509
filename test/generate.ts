import fc from 'fast-check';
import { isArray, isObject, type Json, type JsonObject } from '../src/json.js';

// Pods as nobody writes them all at once: unknown fields at every level, nulls, empty lists, odd names.

const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,12}[a-z0-9])?$/);
const oddText = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    'yes',
    'on',
    '012',
    '1_000',
    '12:30',
    '2026-11-18',
    '~',
    'null',
    '<<',
    '- a',
    'a: b',
    'a #b',
    '#',
    "it's",
    '"',
    '\\',
    '{',
    '[',
    '*x',
    '&x',
    '!x',
    '%',
    '@',
    '`',
    ' lead',
    'trail ',
    'two\nlines\n',
    'tab\there',
    'é',
    '🙂',
    '\u2028',
    '0x1f',
    '.5',
    '1e3',
    '',
    '|',
    '>',
  ),
);
const unknown: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    oddText,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
})).value;
const extras = fc.dictionary(
  name.map((one) => `x-${one}`),
  unknown,
  { maxKeys: 2 },
);

function withExtras(known: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  return fc.tuple(known, extras).map(([one, more]) => ({ ...one, ...more }));
}

const port = fc.integer({ min: 1, max: 65535 });
const probe = withExtras(
  fc.record({ httpGet: fc.record({ path: fc.constant('/'), port: fc.oneof(port, fc.constant('http')) }) }),
);
const container = withExtras(
  fc.record(
    {
      name,
      image: fc.constantFrom('registry.example/app:1', 'registry.example:5000/app@sha256:0', 'nginx'),
      ports: fc.array(withExtras(fc.record({ containerPort: port, name })), { maxLength: 3 }),
      readinessProbe: probe,
      livenessProbe: probe,
      securityContext: fc.oneof(
        fc.constant({}),
        fc.constant({ capabilities: { add: ['SYS_PTRACE'], drop: ['NET_RAW'] } }),
      ),
      volumeMounts: fc.constantFrom(
        [],
        [{ name: 'kube-api-access', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true }],
      ),
    },
    { requiredKeys: ['name', 'image'] },
  ),
);
const containers = (least: number) =>
  fc.uniqueArray(container, { minLength: least, maxLength: 3, selector: (one) => one.name });

const annotations = fc.record(
  {
    'linkerd.io/inject': fc.constantFrom('enabled', 'ingress'),
    'config.linkerd.io/proxy-enable-native-sidecar': fc.constantFrom('true', 'false', 'maybe'),
    'config.linkerd.io/proxy-await': fc.constantFrom('enabled', 'disabled', ''),
    'config.linkerd.io/enable-debug-sidecar': fc.constantFrom('true', 'x'),
    'config.linkerd.io/proxy-log-level': oddText,
    'config.linkerd.io/access-log': oddText,
    'config.linkerd.io/opaque-ports': fc.constantFrom('', '80', 'http,1-9', 'x,,'),
    'config.linkerd.io/proxy-cpu-request': fc.constantFrom('1', '100m', '0', 'x'),
    'config.linkerd.io/proxy-additional-env': fc.constantFrom('[]', 'x', '[{"name":"A","value":"b\\"c"}]'),
    'kuma.io/spire-integration': fc.constantFrom('enabled', 'disabled'),
    note: oddText,
  },
  { requiredKeys: ['linkerd.io/inject'] },
);

/** A template that asks for injection; volumes, init containers and labels may be there, be null, or be missing. */
const template = withExtras(
  fc.record({
    metadata: withExtras(
      fc.record(
        {
          annotations,
          labels: fc.oneof(fc.constant(null), fc.constant({}), fc.dictionary(name, name, { maxKeys: 3 })),
        },
        { requiredKeys: ['annotations'] },
      ),
    ),
    spec: withExtras(
      fc
        .record(
          {
            containers: containers(1),
            initContainers: fc.oneof(fc.constant(null), containers(0)),
            volumes: fc.oneof(
              fc.constant(null),
              fc.constant([]),
              fc.constant([{ name: 'kube-api-access', emptyDir: {} }]),
            ),
            serviceAccountName: name,
          },
          { requiredKeys: ['containers'] },
        )
        .map(soundNames),
    ),
  }),
);

/** Container names are unique over both lists, and what is mounted is there: the API server sees to that. */
function soundNames(spec: JsonObject): JsonObject {
  const rename = (list: Json | undefined, prefix: string) =>
    isArray(list) ? list.map((one, index) => (isObject(one) ? { ...one, name: `${prefix}${index}` } : one)) : list;
  const result: Record<string, Json> = { ...spec };
  for (const [key, prefix] of [
    ['containers', 'app'],
    ['initContainers', 'setup'],
  ] as const) {
    const renamed = rename(spec[key], prefix);
    if (renamed !== undefined) result[key] = renamed;
  }
  const mounts = JSON.stringify(spec).includes('serviceaccount');
  return mounts ? { ...result, volumes: [{ name: 'kube-api-access', emptyDir: {} }] } : result;
}

export const workload: fc.Arbitrary<JsonObject> = fc
  .tuple(template, name, fc.constantFrom('Pod', 'Deployment', 'CronJob'), extras)
  .map(([one, own, kind, more]) => {
    const metadata = { name: own, namespace: 'shop', ...more };
    if (kind === 'Pod')
      return {
        ...one,
        apiVersion: 'v1',
        kind,
        metadata: { ...metadata, ...(isObject(one.metadata) ? one.metadata : {}) },
      };
    if (kind === 'Deployment') return { apiVersion: 'apps/v1', kind, metadata, spec: { template: one } };
    return { apiVersion: 'batch/v1', kind, metadata, spec: { jobTemplate: { spec: { template: one } } } };
  })
  .map((one) => JSON.parse(JSON.stringify(one)));

/** A source of small decisions. */
export type Dice = (sides: number) => number;

export const dice: fc.Arbitrary<Dice> = fc
  .infiniteStream(fc.nat(1000))
  .map((stream) => (sides) => (stream.next().value ?? 0) % sides);

/** Writes an object as YAML in whatever style the dice choose: block or flow, quotes, comments, blank lines, line ends. */
export function anyYaml(object: JsonObject, roll: Dice): string {
  const step = 1 + roll(4);
  const dash = roll(2) * step;
  const style = { step, dash, roll };
  const head = ['', '', '# a comment\n', '---\n', '%YAML 1.1\n---\n', '--- # marker\n'][roll(6)] ?? '';
  const tail = ['', '', '\n', '# the end\n', '\n  # indented\n', '...\n'][roll(6)] ?? '';
  const text = head + blockMap(object, 0, style) + tail;
  const cut =
    roll(5) === 0 && text.endsWith('\n') && !text.endsWith('...\n') && tail === '' ? text.replace(/\n$/, '') : text;
  const ends = roll(5) === 0 ? cut.replaceAll('\n', '\r\n') : cut;
  return roll(9) === 0 ? `\ufeff${ends}` : ends;
}

interface Look {
  readonly step: number;
  readonly dash: number;
  readonly roll: Dice;
}

function blockMap(map: JsonObject, indent: number, look: Look): string {
  return Object.entries(map)
    .map(
      ([key, value]) =>
        `${noise(indent, look)}${' '.repeat(indent)}${keyText(key, look)}:${blockValue(value, indent, look)}`,
    )
    .join('');
}

function noise(indent: number, { roll }: Look): string {
  return ['', '', '', '', '', `${' '.repeat(indent)}# about this\n`, '\n', '# odd\n'][roll(8)] ?? '';
}

function blockValue(value: Json, indent: number, look: Look): string {
  const { roll, step, dash } = look;
  const comment = roll(6) === 0 ? ' # why' : '';
  if (value === null) return `${['', ' null', ' ~'][roll(3)]}${comment}\n`;
  if (roll(5) === 0 && (isObject(value) || isArray(value))) return ` ${flow(value, roll, true)}${comment}\n`;
  if (isObject(value))
    return Object.keys(value).length === 0 ? ` {}${comment}\n` : `${comment}\n${blockMap(value, indent + step, look)}`;
  if (isArray(value))
    return value.length === 0
      ? ` []${comment}\n`
      : `${comment}\n${value.map((one) => blockItem(one, indent + dash, look)).join('')}`;
  if (typeof value === 'string' && /^[a-z][a-z ]*\n[a-z ]*[a-z]\n$/.test(value))
    return ` |\n${value
      .trimEnd()
      .split('\n')
      .map((line) => `${' '.repeat(indent + step)}${line}\n`)
      .join('')}`;
  return ` ${scalar(value, roll)}${comment}\n`;
}

function blockItem(value: Json, indent: number, look: Look): string {
  const lead = noise(indent, look) + ' '.repeat(indent);
  const gap = look.roll(5) === 0 ? 3 : 1;
  if (isObject(value) && Object.keys(value).length > 0) {
    const inner = indent + 1 + gap;
    const [first = '', ...rest] = Object.entries(value).map(
      ([key, child], index) =>
        (index === 0 ? '' : noise(inner, look) + ' '.repeat(inner)) +
        keyText(key, look) +
        ':' +
        blockValue(child, inner, look),
    );
    return `${lead}-${' '.repeat(gap)}${first}${rest.join('')}`;
  }
  return `${lead}- ${isObject(value) || isArray(value) ? flow(value, look.roll, false) : scalar(value, look.roll)}\n`;
}

function keyText(key: string, { roll }: Look): string {
  return /^[a-zA-Z][\w./-]*$/.test(key) && !/^(y|n|yes|no|on|off|true|false|null)$/i.test(key) && roll(4) > 0
    ? key
    : JSON.stringify(key);
}

function scalar(value: Json, roll: Dice): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (/^[a-z][a-z0-9./:-]*[a-z0-9]$/.test(value) && !/^(y|n|yes|no|on|off|true|false|null)$/.test(value) && roll(3) > 0)
    return value;
  return /^[\x20-\x7e]*$/.test(value) && roll(2) === 0
    ? `'${value.replaceAll("'", "''")}'`
    : JSON.stringify(value).replaceAll('\u2028', '\\u2028');
}

function flow(value: Json, roll: Dice, mayBreak: boolean): string {
  const gap = mayBreak && roll(4) === 0 ? `\n${' '.repeat(70)}` : roll(2) === 0 ? ' ' : '';
  const end = roll(6) === 0 ? ', ' : '';
  if (isArray(value))
    return value.length === 0 ? '[]' : `[${gap}${value.map((one) => flow(one, roll, false)).join(', ')}${end}]`;
  if (!isObject(value))
    return value === null
      ? 'null'
      : scalar(value, roll).replace(/^([a-z][^"']*)$/, (word) => (/[,:]/.test(word) ? JSON.stringify(word) : word));
  const entries = Object.entries(value).map(([key, child]) => `${JSON.stringify(key)}: ${flow(child, roll, false)}`);
  return entries.length === 0 ? '{}' : `{${gap}${entries.join(', ')}${end}}`;
}
