import { isArray, isObject, type Json, type JsonObject } from '../json.js';

/** One key that an administrator can set: its type, its default, and what it is for. */
export interface Leaf<T extends Json = Json> {
  readonly kind: 'leaf';
  readonly expected: string;
  readonly fallback: T;
  readonly zero: T;
  readonly help: string;
  /** Turns what a file says into the value, or gives `undefined` when it is of another type. */
  readonly accept: (found: Json) => T | undefined;
  /** A narrower rule than the type; an administrator must keep it, what an annotation sets need not (as in Linkerd). */
  readonly keeps: (value: Json) => boolean;
}

/** A map of keys. */
export interface Group<F extends Fields = Fields> {
  readonly kind: 'group';
  readonly fields: F;
}

export interface Fields {
  readonly [key: string]: Leaf | Group;
}

/** The TypeScript type of what a table describes. */
export type ValueOf<N> =
  N extends Leaf<infer T> ? T : N extends Group<infer F> ? { readonly [K in keyof F]: ValueOf<F[K]> } : never;

/** Every dotted path of a table that ends in a value. */
export type PathOf<N, P extends string = ''> =
  N extends Group<infer F>
    ? { [K in keyof F & string]: F[K] extends Leaf ? `${P}${K}` : PathOf<F[K], `${P}${K}.`> }[keyof F & string]
    : never;

/** The type of the value at a dotted path. */
export type ValueAt<N, P extends string> =
  N extends Group<infer F>
    ? P extends `${infer K}.${infer R}`
      ? K extends keyof F
        ? ValueAt<F[K], R>
        : never
      : P extends keyof F
        ? ValueOf<F[P]>
        : never
    : never;

/** A map of further keys. */
export function group<F extends Fields>(fields: F): Group<F> {
  return { kind: 'group', fields };
}

/** Text. A number or a boolean counts as its text, as Helm and Linkerd have it (`version: 2` means `"2"`). */
export function text(fallback: string, help: string, rule?: Rule<string>): Leaf<string> {
  return leaf('a string', fallback, '', help, (found) => (isScalar(found) ? String(found) : undefined), rule);
}

/** One word out of a list. */
export function choice<const C extends string>(words: readonly C[], fallback: C, help: string): Leaf<C> {
  const named = words.filter((word) => word !== '').join(', ');
  const expected = `one of ${named}${words.length > named.split(', ').length ? ', or nothing' : ''}`;
  return leaf(expected, fallback, fallback, help, (found) => words.find((word) => word === String(found)));
}

/** A switch. Text is no switch: Go refuses `"true"` as well. */
export function flag(fallback: boolean, help: string): Leaf<boolean> {
  return leaf('true or false', fallback, false, help, (found) => (typeof found === 'boolean' ? found : undefined));
}

/** A whole number that a double holds exactly. */
export function whole(fallback: number, help: string, rule?: Rule<number>): Leaf<number> {
  const accept = (found: Json) => (typeof found === 'number' && Number.isSafeInteger(found) ? found : undefined);
  return leaf('a whole number', fallback, 0, help, accept, rule);
}

/** Any number. */
export function decimal(fallback: number, help: string): Leaf<number> {
  return leaf('a number', fallback, 0, help, (found) => (typeof found === 'number' ? found : undefined));
}

/** A list of texts. */
export function texts(fallback: readonly string[], help: string): Leaf<readonly string[]> {
  const accept = (found: Json) => (isArray(found) && found.every(isScalar) ? found.map(String) : undefined);
  return leaf('a list of strings', fallback, [], help, accept);
}

/** An object that is passed on as it is. */
export function free(fallback: JsonObject, help: string): Leaf<JsonObject> {
  return leaf('a map', fallback, {}, help, (found) => (isObject(found) ? found : undefined));
}

/** An object that is passed on as it is, where an empty one means something else than none; none is `null`. */
export function maybe(help: string): Leaf<JsonObject | null> {
  return leaf<JsonObject | null>('a map', null, null, help, (found) => (isObject(found) ? found : undefined));
}

/** A list of objects that are passed on as they are. */
export function objects(help: string): Leaf<readonly JsonObject[]> {
  const accept = (found: Json) => (isArray(found) && found.every(isObject) ? found.filter(isObject) : undefined);
  return leaf<readonly JsonObject[]>('a list of maps', [], [], help, accept);
}

/** A narrower rule than the type: what is expected, and whether a value meets it. */
export interface Rule<T> {
  readonly expected: string;
  readonly holds: (value: T) => boolean;
}

function leaf<T extends Json>(
  expected: string,
  fallback: T,
  zero: T,
  help: string,
  accept: (found: Json) => T | undefined,
  rule?: Rule<T>,
): Leaf<T> {
  const keeps = (found: Json) => {
    const value = accept(found);
    return rule === undefined || (value !== undefined && rule.holds(value));
  };
  return { kind: 'leaf', expected: rule?.expected ?? expected, fallback, zero, help, accept, keeps };
}

function isScalar(found: Json): boolean {
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean';
}

/** Visits every key of a table that ends in a value, in the order of the table. */
export function eachLeaf(
  node: Group,
  visit: (path: readonly string[], leaf: Leaf) => void,
  path: readonly string[] = [],
): void {
  for (const [key, child] of Object.entries(node.fields)) {
    if (child.kind === 'leaf') visit([...path, key], child);
    else eachLeaf(child, visit, [...path, key]);
  }
}

/** The defaults of a table as one tree. */
export function defaultsOf(node: Group): JsonObject {
  return Object.fromEntries(
    Object.entries(node.fields).map(([key, child]) => [
      key,
      child.kind === 'leaf' ? child.fallback : defaultsOf(child),
    ]),
  );
}

/** A value of the wrong type, found while reading. */
export type OnMismatch = (path: readonly string[], expected: string, found: Json) => void;

/** Reads a tree by its table. What is missing or null reads as its zero, what is of another type is reported. */
export function read<F extends Fields>(
  node: Group<F>,
  tree: JsonObject,
  report: OnMismatch,
  path: readonly string[] = [],
): ValueOf<Group<F>> {
  const result: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(node.fields)) {
    const found = Object.hasOwn(tree, key) ? tree[key] : undefined;
    const here = [...path, key];
    if (child.kind === 'leaf') result[key] = readLeaf(child, found, report, here);
    else {
      if (found !== undefined && found !== null && !isObject(found)) report(here, 'a map', found);
      result[key] = read(child, isObject(found) ? found : {}, report, here);
    }
  }
  // The loop builds exactly the keys of the table, each by its own leaf; no type can say so of a loop.
  return result as ValueOf<Group<F>>;
}

function readLeaf(node: Leaf, found: Json | undefined, report: OnMismatch, path: readonly string[]): Json {
  if (found === undefined || found === null) return node.zero;
  const value = node.accept(found);
  if (value === undefined || !node.keeps(found)) report(path, node.expected, found);
  return value ?? node.zero;
}
