import {
  at,
  entryOf,
  follow,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listAt,
  pointer,
  textAt,
} from '../json.js';
import type { Parts } from './build/build.js';
import * as names from './names.js';
import type { Target } from './plan.js';
import { type Status, writeStatus } from './status.js';

/** One thing to add to an object, as RFC 6902 has it: `-` at the end of a path appends to a list, a number goes before. */
export interface Addition {
  readonly path: readonly string[];
  readonly value: Json;
}

/**
 * The text that stands where something must be added and cannot stay there (`null`, an alias, an older value), or an
 * empty one where adding is enough. A manifest file knows it exactly; without one the JSON of the value is as good.
 */
export type Kept = (path: readonly string[], value: Json) => string;

export const keptAsJson: Kept = (_path, value) => (isObject(value) || isArray(value) ? '' : JSON.stringify(value));

/** Collects additions to one object, in order, and the record by which they can be taken out again. */
export class Collector {
  readonly #object: JsonObject;
  readonly #root: readonly string[];
  readonly #kept: Kept;
  readonly #additions: Addition[] = [];
  readonly #added = new Map<string, string[]>();
  #lastPath: readonly string[] = [];
  #lastNames: string[] = [];
  readonly #created: string[] = [];
  readonly #replaced: Record<string, string> = {};

  /** `root` is the path of the Pod template in the object; all other paths start there. */
  constructor(object: JsonObject, root: readonly string[], kept: Kept) {
    this.#object = object;
    this.#root = root;
    this.#kept = kept;
  }

  /** Makes sure that there is a map or list at a path, so that something can be added to it. */
  ensure(path: readonly string[], empty: JsonObject | readonly Json[]): void {
    const full = [...this.#root, ...path];
    const found = follow(this.#object, full);
    if (found === undefined) {
      this.#additions.push({ path: full, value: empty });
      this.#created.push(this.#pointer(path));
      return;
    }
    const fits = isArray(empty) ? isArray(found) : isObject(found);
    if (!fits) this.#additions.push({ path: full, value: empty });
    const kept = this.#kept(full, found);
    if (kept !== '') this.#replaced[this.#pointer(path)] = kept;
  }

  /** Adds entries to a map, sorted by key; one that is there with the same value is left alone. */
  entries(path: readonly string[], entries: Iterable<readonly [string, string]>): void {
    const map = follow(this.#object, [...this.#root, ...path]);
    for (const [key, value] of [...entries].sort(byKey)) {
      const found = at(map, key);
      if (found === value) continue;
      const full = [...this.#root, ...path, key];
      this.#additions.push({ path: full, value });
      if (found === undefined) this.#note(path, key);
      else this.#replaced[this.#pointer([...path, key])] = this.#kept(full, found) || JSON.stringify(found);
    }
  }

  /** Adds a named item to a list, before the item at an index or, without one, at the end. */
  item(path: readonly string[], value: JsonObject, index?: number): void {
    this.#additions.push({ path: [...this.#root, ...path, index === undefined ? '-' : String(index)], value });
    this.#note(path, String(at(value, 'name')));
  }

  get additions(): readonly Addition[] {
    return this.#additions;
  }

  /** Puts the record of everything collected among the annotations. Theirs are the first additions, so it fits in there. */
  record(): void {
    const path = [...this.#root, 'metadata', 'annotations', names.statusKey];
    const value = writeStatus(this.#status());
    const after = this.#additions.findLastIndex(
      (one) => one.path.length === path.length && one.path.at(-2) === 'annotations',
    );
    this.#additions.splice(after < 0 ? this.#firstSlot() : after + 1, 0, { path, value });
  }

  #firstSlot(): number {
    return this.#additions.findLastIndex((one) => one.path.at(-1) === 'annotations') + 1;
  }

  #status(): Status {
    return { added: Object.fromEntries(this.#added), created: this.#created, replaced: this.#replaced };
  }

  /** A pointer in which items of lists are named: numbers would shift when somebody edits the manifest. */
  #pointer(path: readonly string[]): string {
    let holder = follow(this.#object, this.#root);
    const parts = path.map((part) => {
      const isItem = isArray(holder);
      holder = follow(holder, [part]);
      return isItem ? `[${textAt(holder, 'name') ?? part}]` : part;
    });
    return pointer(parts);
  }

  /** Many names go to few lists in a row. */
  #note(path: readonly string[], name: string): void {
    if (path !== this.#lastPath) {
      const parent = this.#pointer(path);
      const names = this.#added.get(parent) ?? [];
      this.#added.set(parent, names);
      this.#lastPath = path;
      this.#lastNames = names;
    }
    this.#lastNames.push(name);
  }
}

function byKey([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}

const annotationsPath = ['metadata', 'annotations'];
const labelsPath = ['metadata', 'labels'];

/** Adds metadata to a Pod template or any other object: annotations first, then labels, as Linkerd orders them. */
export function addMetadata(
  to: Collector,
  annotations: Iterable<readonly [string, string]>,
  labels: Iterable<readonly [string, string]>,
): void {
  to.ensure(['metadata'], {});
  to.ensure(annotationsPath, {});
  to.entries(annotationsPath, annotations);
  const wanted = [...labels];
  if (wanted.length === 0) return;
  to.ensure(labelsPath, {});
  to.entries(labelsPath, wanted);
}

/** Gives the author's own containers what they are to have. Comes before all other containers, whose indices it would miss. */
export function addGrants(to: Collector, { granted }: Parts, targets: readonly Target[]): void {
  for (const { list, index, container } of targets) {
    const path = ['spec', list, String(index)];
    const has = (key: string, name: Json | undefined) => listAt(container, key).some((one) => at(one, 'name') === name);
    // A variable that the author has set is the author's.
    const env = granted.env.filter(({ name }) => !has('env', name));
    if (env.length > 0) to.ensure([...path, 'env'], []);
    for (const one of env) to.item([...path, 'env'], one);
    if (granted.mounts.length > 0) to.ensure([...path, 'volumeMounts'], []);
    for (const one of granted.mounts) to.item([...path, 'volumeMounts'], one);
  }
}

/** Adds everything that belongs to the Pod's spec, in Linkerd's order. */
export function addParts(
  to: Collector,
  parts: Parts,
  layout: { readonly native: boolean; readonly awaits: boolean },
): void {
  const volumes = ['spec', 'volumes'];
  const initContainers = ['spec', 'initContainers'];
  const containers = ['spec', 'containers'];
  to.ensure(volumes, []);
  if (parts.init || (parts.proxy && layout.native)) to.ensure(initContainers, []);
  if (parts.xtables) to.item(volumes, parts.xtables);
  if (parts.init) to.item(initContainers, parts.init, layout.native ? 0 : undefined);
  if (parts.debug) to.item(containers, parts.debug);
  for (const volume of parts.volumes) to.item(volumes, volume);
  if (parts.proxy === undefined) return;
  if (layout.native) to.item(initContainers, parts.proxy, parts.init ? 1 : 0);
  else to.item(containers, parts.proxy, layout.awaits ? 0 : undefined);
}

/** The value of an annotation or label as text, wherever the object keeps its metadata. */
export function annotationOf(object: JsonObject, root: readonly string[], key: string): string | undefined {
  return entryOf(follow(object, [...root, 'metadata', 'annotations']), key);
}
