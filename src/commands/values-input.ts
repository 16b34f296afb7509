import { readFileSync } from 'node:fs';
import { type Mesh, meshOf } from '../inject/mesh.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import { ManifestError } from '../manifest/errors.js';
import { offsetOf } from '../manifest/locate.js';
import { parseManifest, placeAt } from '../manifest/parse.js';
import { readPlain } from '../manifest/scalar.js';
import { type Layer, type Loaded, load, type Mistake, nest, type Origin } from '../values/load.js';
import { merge } from '../values/merge.js';
import { causeOf, Failure } from './failure.js';
import type { Given } from './flags.js';
import { version } from './version.js';

/** The mesh that the values on the command line describe. */
export function meshFrom(given: Given): Mesh {
  return meshOf(valuesFrom(given), `signet ${version}`, sha256);
}

/** Loaded when there is something to hash: node:crypto takes a twentieth of the time of a whole run. */
function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex');
}

/** Reads all values that the command line names; every mistake in them is told at once. */
export function valuesFrom(given: Given): Loaded {
  const layers = [
    ...given.all('values').map(fileLayer),
    ...given.all('set').map(setLayer),
    ...given.all('set-file').map(setFileLayer),
  ];
  const result = load(layers);
  if ('mistakes' in result) throw new Failure(result.mistakes.map(mistakeLine).join('\n'));
  return result.loaded;
}

function fileLayer(file: string): Layer {
  const manifest = parseManifest(readText(file), file);
  if (manifest.json !== null && !isObject(manifest.json)) {
    throw new ManifestError(
      { file, line: 1, column: 1 },
      'expected a map of values, such as `proxy: {logLevel: debug}`',
    );
  }
  const place = (path: readonly string[]): Origin => ({ from: 'file', ...placeAt(manifest, offsetOf(manifest, path)) });
  return { tree: valuesOf(manifest.json ?? {}), place };
}

/** ConfigMap `linkerd-config` may be given as it is: the values are the text under its key `values`. */
function valuesOf(tree: JsonObject): JsonObject {
  const inner = tree.kind === 'ConfigMap' && isObject(tree.data) ? tree.data.values : undefined;
  if (typeof inner !== 'string') return tree;
  const { json } = parseManifest(inner, 'values of the ConfigMap');
  return isObject(json) ? json : {};
}

/** Reads a small text file; what is not UTF-8 is no text. */
export function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    throw new Failure(`cannot read ${file}: ${error instanceof TypeError ? 'it is not UTF-8' : causeOf(error)}`);
  }
}

/** `a.b=1,c.d=x` as Helm reads it: `\.` and `\,` stand for themselves, `{x,y}` is a list, `null` deletes. */
function setLayer(text: string): Layer {
  const parts = text.match(/(?:\\.|\{[^}]*\}|[^,\\])+/g) ?? [];
  const tree = parts.reduce<JsonObject>((below, part) => merge(below, nestSet(part)), {});
  return { tree: keepNulls(parts, tree), place: () => ({ from: 'set', text: `--set ${text}` }) };
}

function nestSet(part: string): JsonObject {
  const [path, value] = assignment('--set', part);
  return nest(path, typedValue(value));
}

/** Merging drops a null, which is right between layers and wrong within one. */
function keepNulls(parts: readonly string[], tree: JsonObject): JsonObject {
  const deleted = parts.map((part) => assignment('--set', part)).filter(([, value]) => value === 'null');
  return deleted.reduce<JsonObject>((below, [path]) => putNull(below, path), tree);
}

function putNull(tree: JsonObject, [key = '', ...rest]: readonly string[]): JsonObject {
  const below = tree[key];
  return { ...tree, [key]: rest.length === 0 ? null : putNull(isObject(below) ? below : {}, rest) };
}

function setFileLayer(text: string): Layer {
  const [path, file] = assignment('--set-file', text);
  return { tree: nest(path, readText(file)), place: () => ({ from: 'set', text: `--set-file ${text}` }) };
}

function assignment(flag: string, text: string): readonly [path: readonly string[], value: string] {
  const equals = text.indexOf('=');
  if (equals <= 0)
    throw new Failure(`${flag} takes PATH=VALUE, such as proxy.logLevel=debug; found ${JSON.stringify(text)}`);
  const path = (text.slice(0, equals).match(/(?:\\.|[^.\\])+/g) ?? []).map((key) => key.replaceAll(/\\(.)/g, '$1'));
  return [path, text.slice(equals + 1).replaceAll(/\\(.)/g, '$1')];
}

/** Helm types booleans, null and whole numbers; everything else is text (`1.10` is a version, not 1.1). */
function typedValue(text: string): Json {
  if (/^\{.*\}$/s.test(text)) {
    const inner = text.slice(1, -1);
    return inner === '' ? [] : inner.split(',').map((one) => typedValue(one.trim()));
  }
  return /^(null|true|false|0|-?[1-9]\d*)$/.test(text) ? readPlain(text) : text;
}

/** One mistake as one line: where, which key, what was expected, what was found, what to do. */
export function mistakeLine({ path, expected, found, origin, advice }: Mistake): string {
  return `${originText(origin)}: ${path}: expected ${expected}, found ${found}${advice === undefined ? '' : `\n    ${advice}`}`;
}

/** Where a value comes from, in words. */
export function originText(origin: Origin): string {
  switch (origin.from) {
    case 'default':
      return 'default';
    case 'preset':
      return `preset ${origin.preset}`;
    case 'file':
      return `${origin.file}:${origin.line}:${origin.column}`;
    case 'set':
      return origin.text;
  }
}
