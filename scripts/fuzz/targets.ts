import { existsSync, readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import jsonpatch, { type Operation } from 'fast-json-patch';
import type { LightMyRequestResponse } from 'fastify';
import { base64Of, patchPieces } from '../../src/admission/patch-text.js';
import { injectDocument, type Setting, uninjectDocument } from '../../src/commands/transform.js';
import { textLayer } from '../../src/commands/values-input.js';
import { bareNamespace } from '../../src/inject/decide/opt-in.js';
import { inject } from '../../src/inject/inject.js';
import { type Mesh, meshOf } from '../../src/inject/mesh.js';
import * as names from '../../src/inject/names.js';
import { origins } from '../../src/inject/origin.js';
import { patchOf, withAdditions } from '../../src/inject/patch.js';
import { annotations, inheritedKeys } from '../../src/inject/settings/annotations.js';
import { at, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../../src/json.js';
import { isManifestError } from '../../src/manifest/errors.js';
import { parseManifest } from '../../src/manifest/parse.js';
import { Splitter } from '../../src/manifest/split.js';
import { createApp } from '../../src/server/app.js';
import { Metrics } from '../../src/server/metrics.js';
import { type Layer, load } from '../../src/values/load.js';
import { cuts, cutText, hostileText, mutated, mutations, valueTree } from './hostile.js';

/** What came of a run of cases. */
export interface Outcome {
  readonly numRuns: number;
  readonly failure: { readonly seed: number; readonly input: unknown; readonly error: unknown } | undefined;
}

/** Something that takes input from strangers, and what must hold whatever they send. */
export interface Target {
  readonly name: string;
  readonly run: (options: { readonly seed: number; readonly numRuns: number }) => Promise<Outcome>;
  /** Tries an input that has failed before. */
  readonly replay: (kept: unknown) => Promise<void>;
}

/** Processor time, in microseconds, that no input of at most a few hundred kilobytes may take. */
const slowest = 5_000_000;

/** Everything that the prototypes have which all values share. */
function prototypes(): string {
  return [Object, Array, Function, String, Number]
    .flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))
    .join();
}
const clean = prototypes();

function target<T>(name: string, arbitrary: fc.Arbitrary<T>, check: (input: T) => void | Promise<void>): Target {
  const guarded = async (input: T) => {
    const begun = process.cpuUsage();
    await check(input);
    if (prototypes() !== clean) throw new Error('a prototype was polluted');
    const { user, system } = process.cpuUsage(begun);
    if (user + system > slowest) throw new Error(`it took ${Math.round((user + system) / 1000)} ms of CPU`);
  };
  return {
    name,
    run: async ({ seed, numRuns }) => {
      const property = fc.asyncProperty(arbitrary, guarded);
      const {
        failed,
        numRuns: done,
        counterexample,
        errorInstance,
        seed: used,
      } = await fc.check(property, { seed, numRuns });
      const failure = failed ? { seed: used, input: counterexample?.[0], error: errorInstance } : undefined;
      return { numRuns: done, failure };
    },
    replay: (kept) => guarded(kept as T),
  };
}

function meshWith(layers: readonly Layer[]): Mesh | undefined {
  const result = load(layers);
  return 'mistakes' in result ? undefined : meshOf(result.loaded, 'signet fuzz', () => 'checksum');
}

const opted = { name: 'shop', labels: {}, annotations: { 'linkerd.io/inject': 'enabled' } };
const mesh = meshWith([]) ?? fail('the defaults are not valid');
/** As the API server writes it: only so can it be answered from memory. */
const example: JsonObject = JSON.parse(readFileSync('fixtures/reviews/as-the-api-server-sends-it.json', 'utf8'));
const examplePod: JsonObject = objectAt(objectAt(example, 'request'), 'object');

const app = createApp({
  mesh: () => mesh,
  namespace: (name) => (name === 'shop' ? opted : bareNamespace(name)),
  isKnown: (name) => name === 'shop',
  metrics: new Metrics(),
  log: () => {},
  warn: () => {},
  decided: () => {},
  now: () => 0,
});

const service: JsonObject = {
  ...example,
  request: {
    ...objectAt(example, 'request'),
    kind: { group: '', version: 'v1', kind: 'Service' },
    resource: { group: '', version: 'v1', resource: 'services' },
    object: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'db' }, spec: { ports: [{ port: 3306 }] } },
  },
};
const update: JsonObject = {
  ...example,
  request: { ...objectAt(example, 'request'), operation: 'UPDATE', oldObject: examplePod },
};
const untouched = JSON.stringify(example);
let sent = 0;

/** Valid reviews, nearly valid ones, and bodies that are none. */
const reviews = target(
  'reviews',
  fc
    .record({
      of: fc.constantFrom(example, example, example, service, update),
      changes: mutations,
      cuts: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: cuts }),
      path: fc.constantFrom('/inject', '/mutate/namespace', '/mutate/pod', '/mutate/rest', '/mutate/services'),
    })
    .map(({ of, changes, cuts: texts, path }) => ({
      path,
      // Half a character cannot be sent: what is sent has another one in its place.
      body: Buffer.from(cutText(JSON.stringify(mutated(of, changes)), texts)).toString(),
    })),
  async ({ path, body }) => {
    const send = (payload: string) =>
      app.inject({ method: 'POST', url: path, headers: { 'content-type': 'application/json' }, payload });
    const first = await send(body);
    isGoodAnswer(body, first);
    // Between whatever else comes, a good review is answered as ever.
    if (sent++ % 25 === 0) {
      const whole = await send(untouched);
      const patch = textAt(objectAt(JSON.parse(whole.body), 'response'), 'patch');
      if (patch === undefined) throw new Error('a good review got no patch');
    }
    if (first.statusCode !== 200) return;
    // What begins with a blank is never looked up: a replica must be answered as somebody is who comes for the first time.
    const [second, third, anew] = [await send(body), await send(body), await send(` ${body}`)];
    for (const again of [second, third, anew])
      if (again.statusCode !== first.statusCode || !isSame(again.body, first.body))
        throw new Error(`from memory it is ${again.body.slice(0, 300)}, at first ${first.body.slice(0, 300)}`);
  },
);

/** Patches are padded by where they were cut, and words of a parser name a place: what counts is what they say. */
function isSame(one: string, other: string): boolean {
  const said = (text: string) => {
    const response = objectAt(JSON.parse(text), 'response');
    const patch = textAt(response, 'patch');
    return JSON.stringify({
      ...response,
      patch: patch === undefined ? null : JSON.parse(Buffer.from(patch, 'base64').toString()),
    });
  };
  return said(one) === said(other);
}

function isGoodAnswer(body: string, response: LightMyRequestResponse): void {
  const answer: Json = JSON.parse(response.body);
  if (response.statusCode === 400 || response.statusCode === 413) {
    if (textAt(answer, 'error') === undefined) throw new Error('a refusal without a word');
    return;
  }
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}: ${response.body}`);
  const request = objectAt(JSON.parse(body), 'request');
  const said = objectAt(answer, 'response');
  if (textAt(answer, 'kind') !== 'AdmissionReview' || at(said, 'uid') !== at(request, 'uid'))
    throw new Error(`this is no answer: ${response.body.slice(0, 300)}`);
  if (typeof at(said, 'allowed') !== 'boolean') throw new Error('allowed is no yes or no');
  const patch = textAt(said, 'patch');
  if (patch === undefined) return;
  const operations: Operation[] = JSON.parse(Buffer.from(patch, 'base64').toString());
  applied(objectAt(request, 'object'), operations);
}

function applied(object: JsonObject, given: readonly unknown[]): JsonObject {
  const operations: Operation[] = JSON.parse(JSON.stringify(given));
  for (const { op } of operations) if (op !== 'add') throw new Error(`an operation ${op}`);
  return jsonpatch.applyPatch(structuredClone(object), operations, true, false).newDocument;
}

const keys = [
  ...new Set([
    ...annotations.map(({ key }) => key),
    ...inheritedKeys,
    'signet.dev/inject',
    'signet.dev/identity',
    'signet.dev/workload-api-containers',
    'signet.dev/status',
  ]),
];

/** Every key that means something on a Pod or a namespace. */
export const annotationKeys: readonly string[] = keys;

/** Annotations with every kind of value, on the Pod and on the namespace. */
export const hostileAnnotations = target(
  'annotations',
  fc.record({
    pod: fc.dictionary(fc.constantFrom(...keys), hostileText, { maxKeys: 4 }),
    labels: fc.dictionary(fc.constantFrom(...keys), hostileText, { maxKeys: 2 }),
    namespace: fc.dictionary(fc.constantFrom(...keys), hostileText, { maxKeys: 3 }),
  }),
  ({ pod, labels, namespace }) => {
    const metadata = objectAt(examplePod, 'metadata');
    const object = { ...examplePod, metadata: { ...metadata, annotations: pod, labels } };
    const where = { ...opted, annotations: { ...opted.annotations, ...namespace } };
    const { additions } = inject(mesh, { object, namespace: where, origin: origins.webhook });
    const plain = JSON.stringify(patchOf(additions));
    // Whatever a value says, it stays in its string: the patch read back is the patch, and adds what we add and nothing else.
    const result = applied(object, JSON.parse(plain));
    isOnlyOurs(object, result);
    const sent = additions.length === 0 ? '[]' : Buffer.from(base64Of(patchPieces(additions)), 'base64').toString();
    if (JSON.stringify(JSON.parse(sent)) !== plain) throw new Error('what is sent is another patch');
    const again = inject(mesh, { object: result, namespace: where, origin: origins.webhook });
    if (again.additions.length > 0) throw new Error(`injected twice: ${again.reason}`);
  },
);

const ourContainers: readonly string[] = Object.values(names.containers);
const ourVolumes: readonly string[] = Object.values(names.volumes);
const containerKeys =
  /^(name|image|imagePullPolicy|command|args|env|ports|livenessProbe|readinessProbe|startupProbe|resources|securityContext|terminationMessagePolicy|lifecycle|volumeMounts|restartPolicy)$/;

/** No container, volume or variable that somebody made up by a quote or a line end. */
function isOnlyOurs(before: JsonObject, after: JsonObject): void {
  const named = (pod: JsonObject, list: string) => listAt(objectAt(pod, 'spec'), list);
  for (const list of ['containers', 'initContainers'])
    for (const container of named(after, list)) {
      const name = textAt(container, 'name') ?? '';
      if (named(before, list).some((one) => at(one, 'name') === name)) continue;
      const odd = isObject(container) ? Object.keys(container).find((key) => !containerKeys.test(key)) : 'no object';
      if (!ourContainers.includes(name) || odd !== undefined) throw new Error(`container ${name} has ${odd}`);
      for (const variable of listAt(container, 'env'))
        if (isObject(variable) && Object.keys(variable).some((key) => !/^(name|value|valueFrom)$/.test(key)))
          throw new Error(`a variable with ${Object.keys(variable).join()}`);
    }
  const foreign = named(after, 'volumes').find(
    (one) =>
      !ourVolumes.includes(textAt(one, 'name') ?? '') &&
      !named(before, 'volumes').some((old) => at(old, 'name') === at(one, 'name')),
  );
  if (foreign !== undefined) throw new Error(`a volume ${JSON.stringify(foreign)}`);
}

const manifests = fixtureTexts(/^input\.(ya?ml|json)$/);
const setting: Setting = {
  mesh,
  origin: origins.webhook,
  templates: [],
  namespaces: new Map([['shop', opted]]),
  namespace: 'shop',
};

/** Manifests with something wrong in them: refused with a place, or injected so that it can be taken out again. */
const files = target('manifests', cutOf(manifests), (text) => {
  const splitter = new Splitter(8 * 1024 * 1024);
  onlyMistakes(() => {
    for (const chunk of [...splitter.push(text), ...splitter.end()]) {
      const out = injectDocument(chunk, 'any.yaml', setting);
      if (out.text === chunk.text || chunk.text.includes('signet.dev/status')) continue;
      const [one, ...others] = out.judged;
      if (one !== undefined && others.length === 0 && one.path.length === 0) {
        const patchedJson = withAdditions(out.manifest.json, one.verdict.additions);
        if (JSON.stringify(parseManifest(out.text, 'any.yaml').json) !== JSON.stringify(patchedJson))
          throw new Error('what is printed is not what the patch makes');
      }
      const back = uninjectDocument({ text: out.text, firstLine: 0 }, 'any.yaml', [], true).text;
      if (back !== chunk.text) throw new Error(`not the same bytes: ${JSON.stringify(back)}`);
    }
  });
});

const valuesFiles = fixtureTexts(/^values.*\.ya?ml$/);

/** Values with something wrong in them: refused with a place, or good enough for every Pod. */
const values = target('values', cutOf(valuesFiles), (text) => {
  onlyMistakes(() => {
    const made = meshWith([textLayer(text, 'values.yaml')]);
    if (made === undefined) return;
    const { additions } = inject(made, { object: examplePod, namespace: opted, origin: origins.webhook });
    applied(examplePod, JSON.parse(JSON.stringify(patchOf(additions))));
  });
});

/** Values as a tree with keys that a program might fall over. */
const trees = target('value trees', valueTree, (tree) => {
  const own: JsonObject = JSON.parse(tree);
  const made = meshWith([{ tree: own, place: () => ({ from: 'default' }) }]);
  if (made === undefined) return;
  applied(
    examplePod,
    patchOf(inject(made, { object: examplePod, namespace: opted, origin: origins.webhook }).additions),
  );
});

/** One of some texts, with something wrong in it. */
function cutOf(texts: readonly string[]): fc.Arbitrary<string> {
  return fc.record({ text: fc.constantFrom(...texts), cuts }).map(({ text, cuts: changes }) => cutText(text, changes));
}

/** What a person can put right has a place and a word; everything else is a bug. */
function onlyMistakes(run: () => void): void {
  try {
    run();
  } catch (error) {
    const isFailure = error instanceof Error && error.name === 'Failure';
    if (!isManifestError(error) && !isFailure) throw error;
  }
}

function fixtureTexts(name: RegExp): readonly string[] {
  return readdirSync('fixtures')
    .filter((folder) => existsSync(`fixtures/${folder}/case.yaml`))
    .flatMap((folder) =>
      readdirSync(`fixtures/${folder}`)
        .filter((file) => name.test(file))
        .map((file) => readFileSync(`fixtures/${folder}/${file}`, 'utf8')),
    )
    .filter((text) => text.length < 20_000);
}

function fail(message: string): never {
  throw new Error(message);
}

export const targets: readonly Target[] = [reviews, hostileAnnotations, files, values, trees];

/** The inputs that have failed once, by target; they are tried again for good. */
export function keptFailures(): readonly { readonly file: string; readonly target: string; readonly input: Json }[] {
  if (!existsSync('fixtures/fuzz')) return [];
  return readdirSync('fixtures/fuzz')
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const kept: Json = JSON.parse(readFileSync(`fixtures/fuzz/${file}`, 'utf8'));
      return { file, target: textAt(kept, 'target') ?? '', input: isObject(kept) ? (kept.input ?? null) : null };
    });
}
