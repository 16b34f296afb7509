import fc from 'fast-check';
import { isArray, isObject, type Json, type JsonObject } from '../../src/json.js';

const nasty = [
  '',
  ' ',
  '"',
  "'",
  '\\',
  '\n',
  '\r\n',
  '\u0000',
  '\u2028',
  '\ud800',
  '~',
  '~1',
  '/',
  '//',
  '..',
  '-',
  '- ',
  ': ',
  '#',
  ' #',
  '{',
  '}',
  '[',
  ']',
  '{{',
  '$(',
  '$(_pod_ns)',
  '&a',
  '*a',
  '<<',
  '!!binary',
  '|',
  '>',
  '---',
  '...',
  '%YAML 1.2',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  '1e999',
  '-0',
  '0x1f',
  '9007199254740993',
  '1Ki',
  '1h1ns',
  '-1',
  '4294967296',
  '{"__proto__":{"polluted":true}}',
  '[{"name":"A","value":"b"}]',
  '[[[[',
  'enabled',
  'disabled',
  'identity',
  'spire',
  'é'.repeat(70),
];

/** Text as somebody would write it who wants to break something. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...nasty) },
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 3, arbitrary: fc.array(fc.constantFrom(...nasty), { maxLength: 6 }).map((parts) => parts.join('')) },
  {
    weight: 1,
    // The most that annotations can hold is 256 KiB.
    arbitrary: fc
      .tuple(fc.constantFrom('x', '9', '[', '{"a":', '"', '\\', ',', '1.', '~'), fc.constantFrom(100, 5000, 262_144))
      .map(([piece, length]) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length)),
  },
);

const hostileJson: fc.Arbitrary<Json> = fc.oneof(
  hostileText,
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as Json),
  fc.constantFrom<Json[]>(
    null,
    true,
    false,
    0,
    -1,
    1e21,
    [],
    {},
    [[]],
    [null],
    { name: null },
    { name: 'linkerd-proxy' },
  ),
);

/** One change to a JSON value: where, by a number that picks a node, and what; nothing takes the node out. */
export interface Mutation {
  readonly where: number;
  readonly key: string;
  readonly value?: Json;
}

export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.array(
  fc.record({ where: fc.nat(), key: hostileText, value: hostileJson }, { requiredKeys: ['where', 'key'] }),
  { maxLength: 4 },
);

/** Makes changes to a JSON value; some set what is there, some add a key that nobody expects. */
export function mutated(json: Json, changes: readonly Mutation[]): Json {
  return changes.reduce<Json>((value, change) => {
    const count = nodesIn(value);
    return changeAt(value, change.where % count, change).json;
  }, json);
}

function nodesIn(json: Json): number {
  const children = isArray(json) ? json : isObject(json) ? Object.values(json) : [];
  return children.reduce<number>((sum, child) => sum + nodesIn(child), 1);
}

function changeAt(json: Json, index: number, change: Mutation): { readonly json: Json; readonly left: number } {
  if (index === 0) return { json: changedNode(json, change), left: -1 };
  let left = index - 1;
  const visit = (child: Json): Json => {
    if (left < 0) return child;
    const done = changeAt(child, left, change);
    left = done.left;
    return done.json;
  };
  if (isArray(json)) return { json: json.map(visit), left };
  if (!isObject(json)) return { json, left };
  const entries: [string, Json][] = Object.entries(json).map(([key, child]) => [key, visit(child)]);
  return { json: fromEntries(entries), left };
}

function changedNode(json: Json, { key, value }: Mutation): Json {
  if (value === undefined) return null;
  return isObject(json) && key !== '' ? fromEntries([...Object.entries(json), [key, value]]) : value;
}

/** Own keys only, `__proto__` included, as JSON.parse makes them. */
function fromEntries(entries: readonly (readonly [string, Json])[]): JsonObject {
  return Object.fromEntries(entries);
}

/** One change to a text: a piece taken out, put in, or repeated. */
export interface Cut {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

export const cuts: fc.Arbitrary<readonly Cut[]> = fc.array(
  fc.record({ at: fc.nat(), remove: fc.nat({ max: 12 }), insert: hostileText.filter((text) => text.length < 300) }),
  { minLength: 1, maxLength: 4 },
);

/** Makes changes to a text. */
export function cutText(text: string, changes: readonly Cut[]): string {
  return changes.reduce((result, { at, remove, insert }) => {
    const place = at % (result.length + 1);
    return result.slice(0, place) + insert + result.slice(place + remove);
  }, text);
}

const valueKeys = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'proxy',
  'signet',
  'identity',
  'image',
  'spire',
  'trustRoots',
  'profiles',
  'bundles',
  '',
];

/** A tree of values as JSON text: parsed, `__proto__` is a key like any other. */
export const valueTree: fc.Arbitrary<string> = fc
  .letrec<{ tree: readonly (readonly [string, unknown])[] }>((tie) => ({
    tree: fc.array(
      fc.tuple(
        fc.constantFrom(...valueKeys),
        fc.oneof(
          { maxDepth: 4 },
          hostileText.filter((one) => one.length < 300),
          fc.boolean(),
          tie('tree'),
        ),
      ),
      { maxLength: 3 },
    ),
  }))
  .tree.map(asObjectText);

function asObjectText(entries: readonly (readonly [string, unknown])[]): string {
  const member = ([key, value]: readonly [string, unknown]): string =>
    `${JSON.stringify(key)}:${Array.isArray(value) ? asObjectText(value) : JSON.stringify(value)}`;
  return `{${entries.map(member).join(',')}}`;
}

/** What `npm test` tries with every annotation, one by one. */
export const everyNasty: readonly string[] = [...nasty, 'x'.repeat(262_144), '9'.repeat(262_144), '['.repeat(262_144)];
