import { existsSync, readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import jsonpatch, { type Operation } from 'fast-json-patch';
import type { LightMyRequestResponse } from 'fastify';
import { injectDocument, type Setting, uninjectDocument } from '../../src/commands/transform.js';
import { textLayer } from '../../src/commands/values-input.js';
import { bareNamespace } from '../../src/inject/decide/opt-in.js';
import { inject } from '../../src/inject/inject.js';
import { type Mesh, meshOf } from '../../src/inject/mesh.js';
import { origins } from '../../src/inject/origin.js';
import { patchOf } from '../../src/inject/patch.js';
import { annotations, inheritedKeys } from '../../src/inject/settings/annotations.js';
import { at, isObject, type Json, type JsonObject, objectAt, textAt } from '../../src/json.js';
import { isManifestError } from '../../src/manifest/errors.js';
import { Splitter } from '../../src/manifest/split.js';
import { createApp } from '../../src/server/app.js';
import { Metrics } from '../../src/server/metrics.js';
import { type Layer, load } from '../../src/values/load.js';
import { cuts, cutText, hostileText, mutated, mutations } from './hostile.js';

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

function target<T>(name: string, arbitrary: fc.Arbitrary<T>, check: (input: T) => void | Promise<void>): Target {
  const guarded = async (input: T) => {
    await check(input);
    if (Object.keys(Object.prototype).length > 0 || 'polluted' in {}) throw new Error('a prototype was polluted');
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
const example: JsonObject = JSON.parse(readFileSync('fixtures/reviews/a-pod-that-asks.json', 'utf8'));
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

/** Valid reviews, nearly valid ones, and bodies that are none. */
const reviews = target(
  'reviews',
  fc.record({
    changes: mutations,
    cuts: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: cuts }),
    path: fc.constantFrom('/inject', '/mutate/namespace', '/mutate/pod', '/mutate/rest', '/mutate/services'),
  }),
  async ({ changes, cuts: texts, path }) => {
    // Half a character cannot be sent: what is sent has another one in its place.
    const body = Buffer.from(cutText(JSON.stringify(mutated(example, changes)), texts)).toString();
    const headers = { 'content-type': 'application/json' };
    const response = await app.inject({ method: 'POST', url: path, headers, payload: body });
    isGoodAnswer(body, response);
  },
);

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

function applied(object: JsonObject, operations: Operation[]): JsonObject {
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

/** Every annotation with every kind of value, on the Pod and on the namespace. */
const hostileAnnotations = target(
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
    // Whatever a value says, it stays in its string: the patch read back is the patch.
    const result = applied(object, JSON.parse(plain));
    const again = inject(mesh, { object: result, namespace: where, origin: origins.webhook });
    if (again.additions.length > 0) throw new Error(`injected twice: ${again.reason}`);
  },
);

const manifests = fixtureTexts(/^input\.(ya?ml|json)$/);
const setting: Setting = {
  mesh,
  origin: origins.webhook,
  templates: [],
  namespaces: new Map([['shop', opted]]),
  namespace: 'shop',
};

/** Manifests with something wrong in them: refused with a place, or injected so that it can be taken out again. */
const files = target('manifests', fc.record({ file: fc.nat(), cuts }), ({ file, cuts: texts }) => {
  const text = cutText(manifests[file % manifests.length] ?? '', texts);
  const splitter = new Splitter(8 * 1024 * 1024);
  onlyMistakes(() => {
    for (const chunk of [...splitter.push(text), ...splitter.end()]) {
      const out = injectDocument(chunk, 'any.yaml', setting);
      if (out.text === chunk.text || chunk.text.includes('signet.dev/status')) continue;
      const back = uninjectDocument({ text: out.text, firstLine: 0 }, 'any.yaml', [], true).text;
      if (back !== chunk.text) throw new Error(`not the same bytes: ${JSON.stringify(back)}`);
    }
  });
});

const valuesFiles = fixtureTexts(/^values.*\.ya?ml$/);

/** Values with something wrong in them: refused with a place, or good enough for every Pod. */
const values = target('values', fc.record({ file: fc.nat(), cuts }), ({ file, cuts: texts }) => {
  const text = cutText(valuesFiles[file % valuesFiles.length] ?? '', texts);
  onlyMistakes(() => {
    const made = meshWith([textLayer(text, 'values.yaml')]);
    if (made === undefined) return;
    const { additions } = inject(made, { object: examplePod, namespace: opted, origin: origins.webhook });
    applied(examplePod, JSON.parse(JSON.stringify(patchOf(additions))));
  });
});

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

export const targets: readonly Target[] = [reviews, hostileAnnotations, files, values];

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
