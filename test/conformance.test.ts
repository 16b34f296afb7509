import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import jsonpatch, { type Operation } from 'fast-json-patch';
import t, { type Test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { inject } from '../src/inject/inject.js';
import { type Mesh, meshOf } from '../src/inject/mesh.js';
import { origins } from '../src/inject/origin.js';
import { patchOf } from '../src/inject/patch.js';
import { settle } from '../src/inject/settings/settle.js';
import { uninject, uninjected } from '../src/inject/uninject.js';
import { examine } from '../src/inject/workload.js';
import { entryOf, follow, isObject, type Json, type JsonObject, listAt, objectAt } from '../src/json.js';
import { load } from '../src/values/load.js';
import { likeTheirs } from './support.js';

// Upstream's own cases: what Linkerd made of each input is in the folder, and signet must make the same of it.
const folder = process.env.LINKERD_CASES ?? '../shared/linkerd-cases';

interface Meta {
  readonly mode:
    | 'cli-inject-manual'
    | 'cli-inject'
    | 'uninject'
    | 'override-values'
    | 'webhook-pod-patch'
    | 'webhook-annotation-patch';
  readonly namespaceAnnotations: JsonObject;
  readonly ownerKind: string | null;
  readonly ownerName: string | null;
  readonly pipeline?: readonly string[];
  readonly steps?: readonly string[];
  readonly exitCode?: number;
  readonly enableDebugSidecar?: boolean;
  readonly overrideAnnotations?: JsonObject;
  readonly expectedChanges?: readonly { readonly path: readonly string[]; readonly value: Json }[];
}

const modes: { readonly [mode in Meta['mode']]: ((t: Test, at: string, meta: Meta) => void) | undefined } = {
  'cli-inject': undefined, // only annotates, for the webhook to inject later
  'cli-inject-manual': injectsLikeTheirCommand,
  uninject: uninjectsLikeTheirCommand,
  'override-values': settlesLikeTheirs,
  'webhook-pod-patch': patchesPodsLikeTheirs,
  'webhook-annotation-patch': notesPortsLikeTheirs,
};

function injectsLikeTheirCommand(t: Test, at: string, meta: Meta): void {
  const mesh = meshAt(at);
  const expected = documents(`${at}/expected.yaml`);
  const actual = inputs(at).flatMap((input) => throughTheirCommand(mesh, input, meta));
  if (meta.exitCode !== 0) {
    t.ok(
      actual.some((one) => one.outcome !== 'inject'),
      'what Linkerd refuses is not injected',
    );
    return;
  }
  const overrides = Object.keys(meta.overrideAnnotations ?? {});
  t.same(
    actual.map((one) => likeTheirs(one.object, overrides)),
    expected.map((one) => likeTheirs(one, overrides)),
  );
}

function throughTheirCommand(mesh: Mesh, input: JsonObject, meta: Meta): { object: JsonObject; outcome: string }[] {
  if (input.kind === 'List') {
    const items = listAt(input, 'items')
      .filter(isObject)
      .flatMap((item) => throughTheirCommand(mesh, item, meta));
    return [
      {
        object: { ...input, items: items.map((one) => one.object) },
        outcome: items.some((one) => one.outcome !== 'inject') ? 'skip' : 'inject',
      },
    ];
  }
  const object = withAnnotations(
    meta.pipeline?.includes('uninject-silent') ? uninjected(input, uninject(input)) : input,
    meta,
  );
  const namespace = { name: entryOf(object.metadata, 'namespace') ?? '', labels: {}, annotations: {} };
  const verdict = inject(mesh, { object, namespace, origin: origins.cli });
  return [{ object: applied(object, patchOf(verdict.additions)), outcome: verdict.outcome }];
}

/** Two of their flags have no value to set: they end up as an annotation, from which everything else follows. */
function withAnnotations(object: JsonObject, meta: Meta): JsonObject {
  const subject = examine(object);
  if (!meta.enableDebugSidecar || subject.is !== 'workload') return object;
  const root = subject.workload.path;
  const copy: JsonObject = structuredClone(object);
  const template = follow(copy, root);
  if (!isObject(template)) return copy;
  const annotations = { ...subject.workload.annotations, 'config.linkerd.io/enable-debug-sidecar': 'true' };
  Object.assign(template, { metadata: { ...subject.workload.metadata, annotations } });
  return copy;
}

function uninjectsLikeTheirCommand(t: Test, at: string): void {
  const actual = inputs(at).map((input) => uninjected(input, uninject(input)));
  t.same(
    actual.map((one) => likeTheirs(one)),
    documents(`${at}/expected.yaml`).map((one) => likeTheirs(one)),
  );
}

function settlesLikeTheirs(t: Test, at: string, meta: Meta): void {
  const changes = meta.expectedChanges ?? [];
  const tracing = changes.some(({ path }) => path.includes('tracing'));
  // Labels of spans are settled where there are spans; the case about them has no image and no ports to speak of.
  const ports = { admin: 1, control: 2, inbound: 3, outbound: 4 };
  const collector = { endpoint: 'c:1', meshIdentity: { serviceAccountName: 'c', namespace: 'n' } };
  const mesh = meshAt(
    at,
    tracing ? { proxy: { image: { name: 'proxy' }, ports, tracing: { enabled: true, collector } } } : {},
  );
  for (const object of inputs(at)) {
    const subject = examine(object);
    if (subject.is !== 'workload') continue;

    const mode = entryOf(meta.namespaceAnnotations, 'linkerd.io/inject') ?? '';
    const { values } = settle(mesh, subject.workload, meta.namespaceAnnotations, origins.webhook, mode);
    for (const { path, value } of changes)
      t.match(follow(JSON.parse(JSON.stringify(values)), path), value, path.join('.'));
    if (changes.length === 0) t.same(values, mesh.values, 'nothing changes');
  }
}

function patchesPodsLikeTheirs(t: Test, at: string, meta: Meta): void {
  const mesh = meshAt(at);
  const [bare] = inputs(at);
  const object = ownedBy(bare ?? {}, meta);
  const namespace = {
    name: entryOf(object.metadata, 'namespace') ?? '',
    labels: {},
    annotations: meta.namespaceAnnotations,
  };
  const verdict = inject(mesh, { object, namespace, origin: origins.webhook });
  t.equal(verdict.outcome, 'inject', verdict.message);
  const expected: Operation[] = JSON.parse(readFileSync(`${at}/expected.patch.json`, 'utf8'));
  t.same(
    withoutHandlerNotes(likeTheirs(applied(object, patchOf(verdict.additions)))),
    withoutHandlerNotes(likeTheirs(applied(object, expected))),
  );
}

/** Their test drives the patch alone; what the whole handler adds to the annotations is not in it. */
function withoutHandlerNotes(pod: Json): Json {
  const annotations = objectAt(objectAt(pod, 'metadata'), 'annotations');
  const { 'linkerd.io/inject': _i, 'config.linkerd.io/opaque-ports': _o, ...rest } = annotations;
  return isObject(pod) ? { ...pod, metadata: { ...objectAt(pod, 'metadata'), annotations: rest } } : pod;
}

/** Their test is told the owner; a Pod of ours shows it. */
function ownedBy(pod: JsonObject, meta: Meta): JsonObject {
  if (meta.ownerKind !== 'deployment') return pod;
  const metadata = objectAt(pod, 'metadata');
  const labels = { ...objectAt(metadata, 'labels'), 'pod-template-hash': '5d59d67564' };
  const ownerReferences = [{ kind: 'ReplicaSet', name: `${meta.ownerName}-5d59d67564` }];
  return { ...pod, metadata: { ...metadata, labels, ownerReferences } };
}

function notesPortsLikeTheirs(t: Test, at: string, meta: Meta): void {
  const expected: Operation[] | null = JSON.parse(readFileSync(`${at}/expected.patch.json`, 'utf8'));
  const mesh = meshAt(at);
  for (const object of inputs(at)) {
    const metadata = objectAt(object, 'metadata');
    const optedOut = {
      ...object,
      metadata: { ...metadata, labels: { ...objectAt(metadata, 'labels'), 'linkerd.io/inject': 'disabled' } },
    };
    const namespace = { name: 'any', labels: {}, annotations: meta.namespaceAnnotations };
    const { additions } = inject(mesh, { object: optedOut, namespace, origin: origins.webhook });
    t.same(patchOf(additions), expected ?? []);
  }
}

function meshAt(at: string, more: JsonObject = {}): Mesh {
  const place = () => ({ from: 'default' }) as const;
  const theirs: JsonObject = parse(readFileSync(`${at}/values.yaml`, 'utf8'));
  const anchors = theirs.identityTrustAnchorsPEM ? {} : { identityTrustAnchorsPEM: 'none is given in this case' };
  const result = load([
    { tree: theirs, place },
    { tree: { signet: { preset: 'linkerd' }, ...anchors, ...more }, place },
  ]);
  if ('mistakes' in result) throw new Error(JSON.stringify(result.mistakes));
  return meshOf(result.loaded, 'signet', (text) => createHash('sha256').update(text).digest('hex'));
}

function inputs(at: string): JsonObject[] {
  const input = `${at}/input`;
  if (!existsSync(input)) return documents(`${at}/input.yaml`);
  const files = readdirSync(input, { recursive: true })
    .map(String)
    .filter((name) => statSync(`${input}/${name}`).isFile());
  return files.sort().flatMap((name) => documents(`${input}/${name}`));
}

function documents(file: string): JsonObject[] {
  return parseAllDocuments(readFileSync(file, 'utf8'))
    .map((one) => one.toJS())
    .filter(isObject);
}

function applied(object: JsonObject, operations: readonly Operation[]): JsonObject {
  return jsonpatch.applyPatch(structuredClone(object), structuredClone([...operations]), true).newDocument;
}

if (existsSync(folder)) {
  const cases = readdirSync(folder).filter((name) => existsSync(`${folder}/${name}/meta.json`));
  for (const name of cases) {
    const meta: Meta = JSON.parse(readFileSync(`${folder}/${name}/meta.json`, 'utf8'));
    const check = modes[meta.mode];
    if (check) t.test(`like Linkerd: ${name}`, async (t) => check(t, `${folder}/${name}`, meta));
  }
  t.ok(cases.length > 50, 'the folder holds the cases');
} else {
  t.test('like Linkerd', { skip: `no upstream cases at ${folder}; LINKERD_CASES names the folder` }, async () => {});
}
