import { readFileSync } from 'node:fs';
import { main } from '../src/commands/main.js';
import type { Terminal } from '../src/commands/terminal.js';
import { fromValues } from '../src/install/from-values.js';
import { at, follow, isArray, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../src/json.js';
import { parseManifest } from '../src/manifest/parse.js';
import { Splitter } from '../src/manifest/split.js';
import { load } from '../src/values/load.js';

/** What a command did. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line as the program would, and catches what it prints. */
export async function signet(
  args: readonly string[],
  look: Partial<Pick<Terminal, 'isColoured' | 'showsProgress'>> = {},
): Promise<Ran> {
  const out: Uint8Array[] = [];
  let err = '';
  const terminal: Terminal = {
    out: (text) => out.push(Uint8Array.from(Buffer.from(text))),
    err: (text) => {
      err += text;
    },
    isColoured: false,
    showsProgress: false,
    ...look,
  };
  const code = await main(args, terminal);
  return { code, out: Buffer.concat(out).toString('utf8'), err };
}

/** The documents of a text, as Kubernetes reads them. */
export function documentsIn(text: string): Json[] {
  const splitter = new Splitter(Number.MAX_SAFE_INTEGER);
  const chunks = [...splitter.push(text), ...splitter.end()];
  return chunks.map((chunk) => parseManifest(chunk.text, 'text', chunk.firstLine).json);
}

/** Follows a pointer in which `[name]` picks the item of a list by its name. */
export function pick(json: Json | undefined, pointer: string): Json | undefined {
  const parts =
    pointer === ''
      ? []
      : pointer
          .slice(1)
          .split('/')
          .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts.reduce<Json | undefined>((value, part) => {
    const name = /^\[(.*)\]$/.exec(part)?.[1];
    if (name === undefined) return follow(value, [part]);
    return isArray(value) ? value.find((item) => at(item, 'name') === name) : undefined;
  }, json);
}

/** What the API server would find wrong with a Pod template: mounts without a volume, names twice, images missing. */
export function structuralFaults(template: Json | undefined): string[] {
  const spec = objectAt(template, 'spec');
  const volumes = listAt(spec, 'volumes').map((one) => textAt(one, 'name'));
  const containers = [...listAt(spec, 'initContainers'), ...listAt(spec, 'containers')];
  const names = containers.map((one) => textAt(one, 'name'));
  const faults = [...repeated(names, 'container'), ...repeated(volumes, 'volume')];
  for (const container of containers) {
    const name = textAt(container, 'name');
    if (!textAt(container, 'image')) faults.push(`container ${name} has no image`);
    const paths = listAt(container, 'volumeMounts').map((mount) => textAt(mount, 'mountPath'));
    faults.push(...repeated(paths, `mount path of ${name}`));
    for (const mount of listAt(container, 'volumeMounts')) {
      if (!volumes.includes(textAt(mount, 'name')))
        faults.push(`container ${name} mounts ${textAt(mount, 'name')}, which is no volume`);
    }
  }
  for (const [kind, map] of [['label', objectAt(objectAt(template, 'metadata'), 'labels')]] as const) {
    for (const [key, value] of Object.entries(map))
      if (typeof value === 'string' && value.length > 63) faults.push(`${kind} ${key} is too long`);
  }
  return faults;
}

function repeated(names: readonly (string | undefined)[], what: string): string[] {
  return names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${what} ${name} is there twice`);
}

/** Every Pod template of an object, however it is nested in lists. */
export function templatesIn(json: Json): Json[] {
  if (!isObject(json)) return [];
  const items = listAt(json, 'items');
  if (items.length > 0) return items.flatMap(templatesIn);
  return [json, follow(json, ['spec', 'template']), follow(json, ['spec', 'jobTemplate', 'spec', 'template'])].filter(
    (one): one is JsonObject => isObject(one) && isArray(at(objectAt(one, 'spec'), 'containers')),
  );
}

export function read(file: string): string {
  return readFileSync(file, 'utf8');
}

/**
 * Their output went through typed structures, which leave out what is null, empty or zero; who made it is said
 * otherwise here, and their flags become annotations where our values do not.
 */
export function likeTheirs(value: Json, unlike: readonly string[] = [], key = ''): Json {
  if (isArray(value)) return value.map((one) => likeTheirs(one, unlike));
  if (!isObject(value)) return value;
  const isNoted = (name: string) => name === 'linkerd.io/created-by' || unlike.includes(name);
  const entries = Object.entries(value)
    .filter(([name]) => key !== 'annotations' || !isNoted(name))
    .map(
      ([name, child]) =>
        [name, key === 'annotations' && child !== null ? String(child) : likeTheirs(child, unlike, name)] as const,
    )
    .filter(([name, child]) => !isDropped(name, child));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isDropped(name: string, child: Json): boolean {
  if (child === null) return true;
  if (name === 'initialDelaySeconds') return child === 0;
  if (name === 'value') return child === '';
  if (name === 'hostNetwork') return child === false;
  return name !== 'emptyDir' && (isObject(child) || isArray(child)) && Object.keys(child).length === 0;
}

const loaded = load([]);
if ('mistakes' in loaded) throw new Error('the defaults are not valid');
/** What an installation with the default values takes from them. */
export const defaultsForInstall = fromValues(loaded.loaded.values);
/** An installation with nothing said about it. */
export const plainInstall = {
  namespace: 'signet',
  image: 'i',
  replicas: 2,
  values: '',
  url: '',
  ...defaultsForInstall,
};
