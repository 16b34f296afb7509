import { readFileSync } from 'node:fs';
import { overlapsIn } from '../inject/identity/overlaps.js';
import { type Mesh, meshOf } from '../inject/mesh.js';
import { at, isObject, type Json, type JsonObject } from '../json.js';
import { errorAt, offsetOf } from '../manifest/locate.js';
import { type Manifest, parseManifest, placeAt } from '../manifest/parse.js';
import { readPlain } from '../manifest/scalar.js';
import type { Values } from '../values/keys.js';
import { type Layer, type Loaded, load, type Mistake, nest, type Origin } from '../values/load.js';
import { merge } from '../values/merge.js';
import { expiredIn, isReadable } from './certificates.js';
import { causeOf, Failure } from './failure.js';
import type { Given } from './flags.js';
import type { Terminal } from './terminal.js';
import { version } from './version.js';

/** The mesh that the values on the command line describe. */
export function meshFrom(given: Given, terminal?: Terminal): Mesh {
  return meshOf(valuesFrom(given, terminal), `signet ${version}`, sha256);
}

/** The hash of a text. Loaded when there is something to hash: node:crypto takes a twentieth of the time of a whole run. */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex');
}

/** What single flags set, which lies over every file. */
export function setLayers(given: Given): readonly Layer[] {
  return [...given.all('set').map(setLayer), ...given.all('set-file').map(setFileLayer)];
}

/** Reads all values that the command line names; every mistake in them is told at once. */
export function valuesFrom(given: Given, terminal?: Terminal): Loaded {
  const layers = [...given.all('values').map(fileLayer), ...setLayers(given)];
  const result = load(layers);
  if ('mistakes' in result) throw new Failure(result.mistakes.map(mistakeLine).join('\n'));
  const { values, originOf } = result.loaded;
  const overlaps = overlapsIn(values);
  if (overlaps.length > 0)
    throw new Failure(
      `values: signet.sidecar and signet.spire.mountPath: expected a place of its own for each mount, found two at ${overlaps.join(', ')}`,
    );
  if (
    values.signet.trustRoots.source === 'inline' &&
    !values.identityTrustAnchorsPEM.includes('-----BEGIN CERTIFICATE-----')
  )
    terminal?.err(
      `warning: ${originText(originOf(['identityTrustAnchorsPEM']))}: identityTrustAnchorsPEM: there is no PEM certificate in it, and proxies will not start\n`,
    );
  for (const [domain, pem] of bundlesOf(values)) {
    const path = domain === '' ? 'identityTrustAnchorsPEM' : 'signet.trustRoots.bundles';
    const where = originText(originOf(path.split('.')));
    const whose = domain === '' ? '' : ` of trust domain ${JSON.stringify(domain)}`;
    if (domain !== '' && !isReadable(pem))
      throw new Failure(`${where}: ${path}: a certificate${whose} cannot be read; expected X.509 in PEM`);
    for (const gone of expiredIn(pem, Date.now()))
      terminal?.err(`warning: ${where}: ${path}: a root${whose} has expired: ${gone}\n`);
  }
  for (const one of result.loaded.suspicions) terminal?.err(`warning: ${mistakeLine(one)}\n`);
  return result.loaded;
}

/** Trust roots that the values hold as text, by trust domain; the mesh's own have no name. */
function bundlesOf({ identityTrustAnchorsPEM, signet }: Values): readonly (readonly [string, string])[] {
  const further = Object.entries(signet.trustRoots.bundles).map(([domain, pem]) => [domain, String(pem)] as const);
  return [['', identityTrustAnchorsPEM], ...further];
}

function fileLayer(file: string): Layer {
  return textLayer(readText(file), file);
}

/** Reads a values file from its text; `file` is how messages call it. */
export function textLayer(text: string, file: string): Layer {
  const manifest = valuesIn(parseManifest(text, file));
  const { json } = manifest;
  if (json !== null && !isObject(json))
    throw errorAt(manifest, [], 'expected a map of values, such as `proxy: {logLevel: debug}`');
  const place = (path: readonly string[]): Origin => ({ from: 'file', ...placeAt(manifest, offsetOf(manifest, path)) });
  return { tree: json ?? {}, place };
}

/** ConfigMap `linkerd-config` may be given as it is: the values are the text under its key `values`. */
function valuesIn(manifest: Manifest): Manifest {
  const { json, file } = manifest;
  if (!isObject(json) || json.kind === undefined || json.apiVersion === undefined) return manifest;
  const inner = json.kind === 'ConfigMap' ? at(json.data, 'values') : undefined;
  if (typeof inner !== 'string')
    throw errorAt(
      manifest,
      ['kind'],
      'expected a values file, or a ConfigMap with the key `values` such as linkerd-config',
    );
  const { line } = placeAt(manifest, offsetOf(manifest, ['data', 'values']));
  return parseManifest(inner, file, line);
}

let standardInput: Buffer | undefined;

/** Standard input can be read once, and is asked for by whoever checks values and whoever passes them on. */
function bytesOf(file: string): Buffer {
  if (file !== '-') return readFileSync(file);
  standardInput ??= readFileSync(0);
  return standardInput;
}

/** Reads a small text file, or standard input for `-`; what is not UTF-8 is no text. */
export function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(file));
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

function assignment(flag: '--set' | '--set-file', text: string): readonly [path: readonly string[], value: string] {
  const equals = text.indexOf('=');
  const written = text.slice(0, equals).trim();
  const path = written.split(/(?<!\\)\./).map((key) => key.replaceAll(/\\(.)/g, '$1'));
  const fail = (why: string) =>
    new Failure(
      `${flag} takes ${flag === '--set' ? 'PATH=VALUE, such as proxy.logLevel=debug' : 'PATH=FILE'}; found ${JSON.stringify(text)}${why}`,
    );
  if (equals <= 0)
    throw fail(flag === '--set' ? ' (a comma separates settings; one that belongs to a value is written \\,)' : '');
  if (path.includes('')) throw fail(', with an empty part in its path');
  if (/\[\d*\]/.test(written)) throw fail('; a list is set as a whole, {a,b}, or in a file');
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
  const where = origin.from === 'default' || origin.from === 'preset' ? 'values' : originText(origin);
  return `${where}: ${path}: expected ${expected}, found ${found}${advice === undefined ? '' : `\n    ${advice}`}`;
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
