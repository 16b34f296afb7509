import {
  at,
  entryOf,
  follow,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  partsOf,
  textAt,
} from '../json.js';
import * as names from './names.js';
import { readStatus, type Status } from './status.js';
import { examine, type TemplateRow } from './workload.js';

/** What must go for an object to be as it was before injection. */
export interface Uninjection {
  /** Paths to take out, each on the object as it is now. */
  readonly removals: readonly (readonly string[])[];
  /** Texts to put back where something else stands now. */
  readonly restored: readonly { readonly path: readonly string[]; readonly text: string }[];
  /** Whether a proxy, an init container or an annotation went; this is what Linkerd calls uninjected. */
  readonly found: boolean;
  /** Whether it goes by our own record, and so leads back to the exact input. */
  readonly exact: boolean;
}

const nothing: Uninjection = { removals: [], restored: [], found: false, exact: false };

/**
 * Finds out what injection has added: by our own record where there is one, else by Linkerd's rules. `recordsOnly` is for
 * a stream that signet has made: there a Namespace or Service without a record says what its author says. `thorough` is for
 * injecting anew: everything of ours goes, what Linkerd's command forgets included, and the opt-in stays.
 */
export function uninject(
  object: JsonObject,
  templates: readonly TemplateRow[] = [],
  { recordsOnly = false, thorough = false }: { readonly recordsOnly?: boolean; readonly thorough?: boolean } = {},
): Uninjection {
  const subject = examine(object, templates);
  if (subject.is === 'other' || subject.is === 'list') return nothing;
  const root = subject.is === 'workload' ? subject.workload.path : [];
  const status = statusAt(object, root);
  if (status !== undefined) return byRecord(object, root, status);
  const isWorkload = subject.is === 'workload';
  // A workload that shows no injection has none to take out; its opt-in is its author's.
  if (isWorkload ? !showsInjection(object, root) : recordsOnly) return nothing;
  const holders = root.length === 0 ? [[]] : [root, []];
  return byRules(object, isWorkload ? root : undefined, holders, thorough);
}

/** A proxy or its init container by name, or one of the marks that injection leaves. */
function showsInjection(object: JsonObject, root: readonly string[]): boolean {
  const spec = follow(object, [...root, 'spec']);
  const metadata = follow(object, [...root, 'metadata']);
  const marks = [names.createdBy, names.proxyVersion, names.trustRootChecksum];
  return (
    [...listAt(spec, 'initContainers'), ...listAt(spec, 'containers')].some((one) =>
      [names.containers.proxy, names.containers.init].some((name) => name === textAt(one, 'name')),
    ) ||
    marks.some((key) => at(objectAt(metadata, 'annotations'), key) !== undefined) ||
    at(objectAt(metadata, 'labels'), names.controlPlaneNamespace) !== undefined
  );
}

/** True of an object that carries our record, which is to say: signet has injected it. */
export function hasRecord(object: JsonObject, templates: readonly TemplateRow[] = []): boolean {
  const subject = examine(object, templates);
  return statusAt(object, subject.is === 'workload' ? subject.workload.path : []) !== undefined;
}

function statusAt(object: JsonObject, root: readonly string[]): Status | undefined {
  return readStatus(entryOf(follow(object, [...root, 'metadata', 'annotations']), names.statusKey));
}

function byRecord(object: JsonObject, root: readonly string[], status: Status): Uninjection {
  const annotations = '/metadata/annotations';
  const added = { ...status.added, [annotations]: [...(status.added[annotations] ?? []), names.statusKey] };
  const removals: (readonly string[])[] = [];
  for (const [parent, keys] of Object.entries(added)) {
    const path = resolve(object, root, parent);
    const holder = follow(object, path);
    for (const key of keys) {
      const place = placeOf(holder, key);
      if (place !== undefined) removals.push([...path, place]);
    }
  }
  const restored = Object.entries(status.replaced).map(([pointer, text]) => ({
    path: resolve(object, root, pointer),
    text,
  }));
  const created = status.created.map((pointer) => resolve(object, root, pointer));
  return { removals: withEmptied(object, removals, created), restored, found: true, exact: true };
}

/** Where a pointer of the record leads now: `[web]` in it is the item of that name, wherever it stands. */
function resolve(object: JsonObject, root: readonly string[], pointer: string): readonly string[] {
  const path = [...root];
  let holder = follow(object, root);
  for (const part of partsOf(pointer)) {
    const place = isArray(holder) ? (placeOf(holder, part.replace(/^\[(.*)\]$/, '$1')) ?? part) : part;
    path.push(place);
    holder = follow(holder, [place]);
  }
  return path;
}

/** Where a key, or an item of that name, is now. */
function placeOf(holder: Json | undefined, key: string): string | undefined {
  if (isObject(holder)) return Object.hasOwn(holder, key) ? key : undefined;
  const index = isArray(holder) ? holder.findIndex((item) => at(item, 'name') === key) : -1;
  return index < 0 ? undefined : String(index);
}

/** Maps and lists of which nothing would stay go as a whole, innermost first; `candidates` says which may. */
function withEmptied(
  object: JsonObject,
  removals: readonly (readonly string[])[],
  candidates: readonly (readonly string[])[],
): (readonly string[])[] {
  let result = [...removals];
  for (const path of [...candidates].sort((a, b) => b.length - a.length)) {
    const holder = follow(object, path);
    const size = isArray(holder) ? holder.length : isObject(holder) ? Object.keys(holder).length : 0;
    const inside = (one: readonly string[]) =>
      one.length > path.length && path.every((part, index) => one[index] === part);
    const going = result.filter((one) => inside(one) && one.length === path.length + 1).length;
    if (holder === undefined || going < size) continue;
    result = [...result.filter((one) => !inside(one)), path];
  }
  return result;
}

const ruleContainers: { readonly [list: string]: readonly string[] } = {
  initContainers: [names.containers.init, names.containers.proxy],
  containers: [names.containers.proxy],
};
const allContainers: { readonly [list: string]: readonly string[] } = {
  initContainers: Object.values(names.containers),
  containers: Object.values(names.containers),
};
const ruleVolumes: readonly string[] = [names.volumes.keys, names.volumes.xtables, names.volumes.token];

/**
 * Linkerd's own rules: proxy, init container and three volumes by name, every label and annotation of `linkerd.io` but an
 * opt-out. Debug container, validator and podinfo stay, as there; lists and maps that become empty go with their key.
 */
function byRules(
  object: JsonObject,
  template: readonly string[] | undefined,
  holders: readonly (readonly string[])[],
  thorough: boolean,
): Uninjection {
  const removals: (readonly string[])[] = [];
  let found = false;
  if (template !== undefined) {
    const containers = thorough ? allContainers : ruleContainers;
    for (const [list, gone] of Object.entries(containers))
      found = takeNamed(object, [...template, 'spec', list], gone, removals) || found;
    takeNamed(
      object,
      [...template, 'spec', 'volumes'],
      thorough ? Object.values(names.volumes) : ruleVolumes,
      removals,
    );
  }
  for (const holder of holders) {
    const metadata = follow(object, [...holder, 'metadata']);
    const labels = objectAt(metadata, 'labels');
    if (at(labels, names.controlPlaneComponent) !== undefined) continue;
    for (const key of Object.keys(objectAt(metadata, 'annotations'))) {
      const optsOut =
        key === names.injectKey && (thorough || entryOf(objectAt(metadata, 'annotations'), key) === 'disabled');
      if (!key.startsWith('linkerd.io') || optsOut) continue;
      removals.push([...holder, 'metadata', 'annotations', key]);
      found = true;
    }
    for (const key of Object.keys(labels))
      if (key.startsWith('linkerd.io')) removals.push([...holder, 'metadata', 'labels', key]);
  }
  const parents = new Map(removals.map((path) => [path.slice(0, -1).join('\0'), path.slice(0, -1)]));
  return { removals: withEmptied(object, removals, [...parents.values()]), restored: [], found, exact: false };
}

function takeNamed(
  object: JsonObject,
  path: readonly string[],
  gone: readonly string[],
  removals: (readonly string[])[],
): boolean {
  const list = follow(object, path);
  let found = false;
  // A Pod of nothing but a proxy is nobody's injection: something must stay.
  if (
    !isArray(list) ||
    (path.at(-1) === 'containers' && list.every((item) => gone.includes(textAt(item, 'name') ?? '')))
  )
    return false;
  for (const [index, item] of list.entries()) {
    if (!gone.includes(textAt(item, 'name') ?? '')) continue;
    removals.push([...path, String(index)]);
    found = true;
  }
  return found;
}

/** The object without what injection has added. */
export function uninjected(object: JsonObject, { removals, restored }: Uninjection): JsonObject {
  const gone = new Set(removals.map((path) => path.join('\0')));
  const put = new Map(restored.map(({ path, text }) => [path.join('\0'), text]));
  const walk = (value: Json, path: string): Json => {
    const old = put.get(path);
    if (old !== undefined) return restoredValue(old, value, path);
    return walkChildren(value, path);
  };
  const walkChildren = (value: Json, path: string): Json => {
    const child = (key: string) => (path === '' ? key : `${path}\0${key}`);
    if (isArray(value))
      return value.flatMap((item, index) => (gone.has(child(String(index))) ? [] : [walk(item, child(String(index)))]));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, item]) => (gone.has(child(key)) ? [] : [[key, walk(item, child(key))]])),
    );
  };
  const restoredValue = (text: string, value: Json, path: string): Json => {
    try {
      return JSON.parse(text.trim());
    } catch {
      // An alias: what it stands for is what stays once the additions are out.
      return text.trim() === '~' ? null : walkChildren(value, path);
    }
  };
  const result = walk(object, '');
  return isObject(result) ? result : {};
}
