import t from 'tap';
import { everyNasty } from '../scripts/fuzz/hostile.js';
import { annotationKeys, hostileAnnotations, keptFailures, targets } from '../scripts/fuzz/targets.js';
import { inject } from '../src/inject/inject.js';
import { meshOf } from '../src/inject/mesh.js';
import { origins } from '../src/inject/origin.js';
import type { JsonObject } from '../src/json.js';
import { parseManifest } from '../src/manifest/parse.js';
import { Splitter } from '../src/manifest/split.js';
import { load } from '../src/values/load.js';
import { signet } from './support.js';

// Input of strangers: a few thousand cases here, a million with `npm run fuzz`.

for (const target of targets) {
  t.test(`whatever is sent as ${target.name}, nothing crashes, leaks or pollutes`, async (t) => {
    const seed = Number(process.env.SIGNET_SEED ?? Date.now() % 2 ** 31);
    const { failure } = await target.run({ seed, numRuns: Number(process.env.SIGNET_RUNS ?? 1000) });
    t.equal(failure, undefined, `seed ${seed}`);
  });
}

t.test('what has failed once is tried for good', async (t) => {
  for (const { file, target: name, input } of keptFailures()) {
    const target = targets.find((one) => one.name === name);
    await target?.replay(input);
    t.ok(target, file);
  }
});

t.test('every annotation with every hostile value, one by one', async (t) => {
  let tried = 0;
  for (const key of annotationKeys)
    for (const value of everyNasty)
      for (const input of [
        { pod: { [key]: value }, labels: {}, namespace: {} },
        { pod: {}, labels: {}, namespace: { [key]: value } },
      ]) {
        tried++;
        await hostileAnnotations.replay(input).catch((error: unknown) => {
          t.fail(`${key}: ${JSON.stringify(value.slice(0, 80))}: ${error}`);
        });
      }
  t.ok(tried > 5000, `${tried} cases`);
});

/** The processor time that something takes, the best of a few: what else the machine does is not counted. */
function best(run: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 6; tries++) {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

t.test('time is linear in the input', async (t) => {
  const loaded = load([]);
  if ('mistakes' in loaded) throw new Error('the defaults are not valid');
  const mesh = meshOf(loaded.loaded, 'signet', () => '');
  const namespace = { name: 'shop', labels: {}, annotations: { 'linkerd.io/inject': 'enabled' } };
  const judged = (metadata: JsonObject, containers: number) => () => {
    const object = {
      kind: 'Pod',
      metadata,
      spec: { containers: Array.from({ length: containers }, (_, index) => ({ name: `c${index}`, image: 'i' })) },
    };
    inject(mesh, { object, namespace, origin: origins.webhook });
  };
  const annotated = (key: string, text: (size: number) => string) => (size: number) =>
    judged({ annotations: { [`config.linkerd.io/${key}`]: text(size) } }, 1);
  const read = (text: (size: number) => string) => (size: number) => () => void parseManifest(text(size), 'f.yaml');
  // Sixteen times the size: 16 × the time where it is linear, 256 × where it is quadratic; a noisy machine lies between 4 and 60.
  const shapes: readonly (readonly [string, number, (size: number) => () => void])[] = [
    ['digits of a quantity', 10_000, annotated('proxy-cpu-limit', (size) => `${'9'.repeat(size)}x`)],
    ['digits of a duration', 10_000, annotated('shutdown-grace-period', (size) => `${'9'.repeat(size)}x`)],
    ['digits of a ratio', 10_000, annotated('proxy-cpu-ratio-limit', (size) => `${'9'.repeat(size)}x`)],
    ['opaque ports', 2000, annotated('opaque-ports', (size) => Array.from({ length: size }, (_, n) => n).join())],
    [
      'additional variables',
      1500,
      annotated('proxy-additional-env', (size) =>
        JSON.stringify(Array.from({ length: size }, (_, n) => ({ name: `A${n}`, value: 'x' }))),
      ),
    ],
    ['containers', 1500, (size) => judged({}, size)],
    ['containers with an identity', 500, (size) => judged({ annotations: { 'signet.dev/inject': 'identity' } }, size)],
    [
      'containers that are named',
      500,
      (size) => {
        const named = Array.from({ length: size }, (_, n) => `c${n}`).join();
        const annotations = { 'signet.dev/identity': 'spire', 'signet.dev/workload-api-containers': named };
        return judged({ annotations }, size);
      },
    ],
    [
      'pieces of a stream',
      2000,
      (size) => () => {
        const splitter = new Splitter(8 * 1024 * 1024);
        for (let n = 0; n < size; n++) [...splitter.push(`key${n}: value\n`)];
        [...splitter.end()];
      },
    ],
    [
      'annotations',
      1000,
      (size) => judged({ annotations: Object.fromEntries(Array.from({ length: size }, (_, n) => [`a/${n}`, 'x'])) }, 1),
    ],
    ['keys of a map', 2000, read((size) => Array.from({ length: size }, (_, n) => `k${n}: v\n`).join(''))],
    ['one long line', 4000, read((size) => `k: ${'x '.repeat(size)}y\n`)],
    ['blank lines', 5000, read((size) => `k: v\n${'\n'.repeat(size)}`)],
    ['quotes', 10_000, read((size) => `k: "${"'".repeat(size)}"\n`)],
    ['open brackets', 400, read((size) => `k: ${'['.repeat(size / 4)}${']'.repeat(size / 4)}\n`)],
    [
      'merges',
      150,
      read((size) => `a: &a {x: 1}\nb:\n  <<: [${Array.from({ length: size }, () => '*a').join(', ')}]\n`),
    ],
  ];
  for (const [name, size, make] of shapes) {
    const [small, large] = [make(size), make(16 * size)];
    small();
    const ratio = best(large) / Math.max(best(small), 0.2);
    t.ok(ratio < 80, `${name}: sixteen times the size takes ${ratio.toFixed(1)} times as long`);
  }
});

t.test('deep nesting is refused, not a crash', async (t) => {
  for (const text of [
    `a: ${'['.repeat(50_000)}`,
    `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
    `- ${'- '.repeat(30_000)}x\n`,
  ])
    t.throws(() => parseManifest(text, 'deep.yaml'));
  const { code } = await signet(['values', '--set', `signet.sidecar.env=${'{'.repeat(5000)}`]);
  t.equal(code, 2);
});
