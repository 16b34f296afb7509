import { at, isObject, type Json, type JsonObject } from '../json.js';
import { type Change, table, type Values } from './keys.js';
import { merge } from './merge.js';
import { nearest } from './nearest.js';
import { presets } from './presets.js';
import { requirements } from './requirements.js';
import { defaultsOf, type Group, read } from './schema.js';

/** Where a value comes from. */
export type Origin =
  | { readonly from: 'default' }
  | { readonly from: 'preset'; readonly preset: string }
  | { readonly from: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly from: 'set'; readonly text: string };

/** One tree of values and the place of each key in it. */
export interface Layer {
  readonly tree: JsonObject;
  readonly place: (path: readonly string[]) => Origin;
}

/** A mistake in the values: which key, what was expected, what was found, where, and what to do about it. */
export interface Mistake {
  readonly path: string;
  readonly expected: string;
  readonly found: string;
  readonly origin: Origin;
  readonly advice?: string;
}

/** Values that passed every check, with the tree they were read from and the origin of each key. */
export interface Loaded {
  readonly values: Values;
  /** Keys that mean nothing here and look like a slip of the finger; Linkerd's files have many that mean nothing. */
  readonly suspicions: readonly Mistake[];
  readonly tree: JsonObject;
  readonly originOf: (path: readonly string[]) => Origin;
}

export type LoadResult = { readonly loaded: Loaded } | { readonly mistakes: readonly Mistake[] };

const defaults: JsonObject = defaultsOf(table);

/** The top-level keys that Linkerd's chart never leaves out. */
const ofEveryChart = [
  'clusterDomain',
  'clusterNetworks',
  'debugContainer',
  'identity',
  'imagePullPolicy',
  'linkerdVersion',
  'networkValidator',
  'proxy',
  'proxyInit',
];

/**
 * A file that holds the whole chart, such as `values` of ConfigMap `linkerd-config`, says everything there is to say: a
 * key that is not in its free maps was taken out by somebody, and must not come back with the defaults of those maps.
 */
function defaultsUnder(layers: readonly Layer[]): JsonObject {
  const isWhole = ({ tree }: Layer) => ofEveryChart.every((key) => Object.hasOwn(tree, key));
  return layers.some(isWhole)
    ? merge(defaults, {
        networkValidator: { securityContext: null },
        proxy: { inbound: null, outbound: null, tracing: { labels: null } },
      })
    : defaults;
}

/** Lays the layers over defaults and preset, later ones on top, and checks the result; all mistakes are reported at once. */
export function load(given: readonly Layer[]): LoadResult {
  const mistakes: Mistake[] = [];
  const suspicions: Mistake[] = [];
  const own = given.map((layer) => canonicalLayer(layer, mistakes, suspicions));
  const layers = [{ tree: defaultsUnder(own), place: () => ({ from: 'default' }) as const }, presetLayer(own), ...own];
  const originOf = (path: readonly string[]) => lastToSay(layers, path);
  const tree = layers.reduce<JsonObject>((below, layer) => merge(below, layer.tree), {});
  const report = (path: readonly string[], expected: string, found: Json) =>
    mistakes.push({ path: path.join('.'), expected, found: describe(found), origin: originOf(path) });
  const values = read(table, tree, report);
  if (mistakes.length === 0) {
    for (const { inside = [], ...unmet } of requirements(values))
      mistakes.push({ ...unmet, origin: lastToSay(layers, unmet.path.split('.'), inside) });
  }
  return mistakes.length > 0 ? { mistakes } : { loaded: { values, tree, originOf, suspicions } };
}

/** The values with some keys set anew, read by the same table. */
export function withChanges(loaded: Loaded, changes: readonly Change[]): Values {
  if (changes.length === 0) return loaded.values;
  const over = changes.reduce<JsonObject>((tree, one) => merge(tree, nest(one.path.split('.'), one.value)), {});
  return read(table, replaceLeaves(loaded.tree, over, table), () => {});
}

/** A tree with one value at the end of a path. */
export function nest(path: readonly string[], value: Json): JsonObject {
  const [key = '', ...rest] = path;
  return { [key]: rest.length === 0 ? value : nest(rest, value) };
}

/** Lays changes over a tree leaf by leaf: a free map is replaced as a whole, so that a change can also take keys away. */
function replaceLeaves(tree: JsonObject, over: JsonObject, node: Group): JsonObject {
  const result: Record<string, Json> = { ...tree };
  for (const [key, value] of Object.entries(over)) {
    const child = node.fields[key];
    const below = result[key];
    result[key] =
      child?.kind === 'group' && isObject(value) ? replaceLeaves(isObject(below) ? below : {}, value, child) : value;
  }
  return result;
}

function presetLayer(layers: readonly Layer[]): Layer {
  const named = layers.map((layer) => at(at(layer.tree, 'signet'), 'preset')).findLast((name) => name !== undefined);
  const preset = named === 'linkerd' ? 'linkerd' : 'signet';
  return { tree: presets[preset], place: () => ({ from: 'preset', preset }) };
}

function lastToSay(layers: readonly Layer[], path: readonly string[], inside: readonly string[] = []): Origin {
  const layer = layers.findLast(({ tree }) => says(tree, path));
  return layer?.place([...path, ...inside]) ?? { from: 'default' };
}

/** A layer speaks of a path when it holds it, or cuts it off with a null or a scalar further up. */
function says(tree: Json, path: readonly string[]): boolean {
  let current: Json | undefined = tree;
  for (const key of path) {
    if (!isObject(current)) return true;
    current = at(current, key);
    if (current === undefined) return false;
  }
  return true;
}

/**
 * Gives keys the spelling of the table (Go reads them regardless of case), drops what is not ours to read, and reports
 * keys under `signet` that mean nothing: there a slip of the finger would otherwise be silent.
 */
function canonicalLayer(layer: Layer, mistakes: Mistake[], suspicions: Mistake[]): Layer {
  const spellings = new Map<string, readonly string[]>();
  const tree = canonical(table, layer.tree, [], [], spellings, (path, known) => {
    const key = path.at(-1) ?? '';
    const isOurs = path[0] === 'signet';
    const near = nearest(key, known, isOurs ? undefined : 2);
    if (!isOurs && near === undefined) return;
    const advice =
      near === undefined
        ? `known keys here: ${known.join(', ')}`
        : `did you mean ${[...path.slice(0, -1), near].join('.')}?`;
    const found = {
      path: path.join('.'),
      expected: 'a known key',
      found: 'an unknown one',
      origin: layer.place(path),
      advice,
    };
    (isOurs ? mistakes : suspicions).push(found);
  });
  return { tree, place: (path) => layer.place(spellings.get(path.join('.')) ?? path) };
}

function canonical(
  node: Group,
  tree: JsonObject,
  path: readonly string[],
  written: readonly string[],
  spellings: Map<string, readonly string[]>,
  onUnknown: (path: readonly string[], known: readonly string[]) => void,
): JsonObject {
  const known = Object.keys(node.fields);
  const result: Record<string, Json> = {};
  for (const [key, value] of Object.entries(tree)) {
    const inSignet = path[0] === 'signet';
    const name =
      Object.hasOwn(node.fields, key) || inSignet ? key : known.find((one) => one.toLowerCase() === key.toLowerCase());
    const child = name !== undefined && Object.hasOwn(node.fields, name) ? node.fields[name] : undefined;
    if (name === undefined || child === undefined) {
      onUnknown([...written, key], known);
      continue;
    }
    const here = [...path, name];
    if (name !== key) spellings.set(here.join('.'), [...written, key]);
    result[name] =
      child.kind === 'group' && isObject(value)
        ? canonical(child, value, here, [...written, key], spellings, onUnknown)
        : value;
  }
  return result;
}

/** Says what was found, short enough for one line. */
export function describe(found: Json): string {
  if (isObject(found)) return 'a map';
  if (Array.isArray(found)) return 'a list';
  if (found === null) return 'null';
  const text = JSON.stringify(found);
  const short = text.length > 60 ? `${text.slice(0, 57)}…` : text;
  return typeof found === 'string' ? `the string ${short}` : short;
}
