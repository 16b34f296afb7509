import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FakeApi, until } from '../scripts/fake-api.js';
import { webhookConfiguration } from '../src/install/registration.js';
import { type Json, type JsonObject, listAt, objectAt, textAt } from '../src/json.js';
import { makeAuthority } from '../src/server/certificates/make.js';
import { pick, plainInstall } from './support.js';

// The webhook as a process beside an API server: that what the parts can do is really wired together.

const review: JsonObject = JSON.parse(readFileSync('fixtures/reviews/as-the-api-server-sends-it.json', 'utf8'));
const gates = (on: boolean) =>
  ['PodCertificateRequest', 'ClusterTrustBundle', 'ClusterTrustBundleProjection']
    .map((name) => `kubernetes_feature_enabled{name="${name}",stage="BETA"} ${on ? 1 : 0}\n`)
    .join('');

interface World {
  readonly api: FakeApi;
  readonly child: ChildProcess;
  readonly log: () => string;
  readonly values: (tree: JsonObject) => void;
  readonly ask: (namespace: string, annotations?: JsonObject) => Promise<Json>;
}

/** Starts `signet serve` with these values beside a fake API server. */
async function serving(t: Test, tree: JsonObject, prepare: (api: FakeApi) => void = () => {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  const api = new FakeApi();
  await api.start();
  api.put(
    '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/signet',
    webhookConfiguration(plainInstall),
  );
  for (const name of ['shop', 'plain', 'linkerd'])
    api.put(`/api/v1/namespaces/${name}`, {
      kind: 'Namespace',
      metadata: { name, annotations: name === 'shop' ? { 'linkerd.io/inject': 'enabled' } : {} },
    });
  prepare(api);
  const values = join(folder, 'values.json');
  const write = (next: JsonObject) => writeFileSync(values, JSON.stringify(next));
  write(tree);
  writeFileSync(join(folder, 'kubeconfig'), api.kubeconfig);
  const child = spawn(process.execPath, [
    ...['dist/signet.js', 'serve', '--kubeconfig', join(folder, 'kubeconfig'), '--self-signed', '--host', '127.0.0.1'],
    ...['--addr', '127.0.0.1:0', '--admin-addr', '127.0.0.1:0', '--drain-seconds', '0', '--values', values],
  ]);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const ended = new Promise((done) => child.once('exit', done));
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
    await api.stop();
    rmSync(folder, { recursive: true });
  });
  await until(() => text.includes('"ready"'));
  const port = Number(/"port":(\d+)/.exec(text)?.[1]);
  const ca = () => {
    const secret = api.objects.get('/api/v1/namespaces/signet/secrets/signet-tls');
    return Buffer.from(textAt(objectAt(secret, 'data'), 'ca.crt') ?? '', 'base64').toString();
  };
  const ask = (namespace: string, annotations: JsonObject = {}) =>
    post(port, ca(), {
      ...review,
      request: {
        ...objectAt(review, 'request'),
        namespace,
        object: withAnnotations(objectAt(objectAt(review, 'request'), 'object'), annotations),
      },
    });
  return { api, child, log: () => text, values: write, ask };
}

function withAnnotations(pod: JsonObject, annotations: JsonObject): JsonObject {
  const metadata = objectAt(pod, 'metadata');
  return { ...pod, metadata: { ...metadata, annotations: { ...objectAt(metadata, 'annotations'), ...annotations } } };
}

function post(port: number, ca: string, body: Json): Promise<Json> {
  return new Promise((done, fail) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request({ host: '127.0.0.1', port, path: '/mutate/rest', method: 'POST', headers, ca }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => done(objectAt(JSON.parse(text), 'response')));
    });
    sent.on('error', fail);
    sent.end(JSON.stringify(body));
  });
}

const rootsAt = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps/linkerd-identity-trust-roots`;
function roots(namespace: string, pem: string): JsonObject {
  return {
    kind: 'ConfigMap',
    metadata: { name: 'linkerd-identity-trust-roots', namespace },
    data: { 'ca-bundle.crt': pem },
  };
}
const lifetime = { from: Date.now() - 60_000, ms: 3_600_000 };

t.test('trust roots reach a namespace whose first Pod asked by itself, and follow values and source', async (t) => {
  const [own, other] = [await makeAuthority('own', lifetime), await makeAuthority('other', lifetime)];
  const { api, ask, values } = await serving(t, {}, (api) => api.put(rootsAt('linkerd'), roots('linkerd', own.cert)));
  const copied = (namespace: string) => String(pick(api.objects.get(rootsAt(namespace)) ?? {}, '/data/ca-bundle.crt'));
  await until(() => copied('shop') === own.cert);
  t.equal(copied('plain'), 'undefined', 'a namespace that did not ask has none');
  t.match(await ask('plain', { 'linkerd.io/inject': 'enabled' }), { allowed: true, patchType: 'JSONPatch' });
  await until(() => copied('plain') === own.cert);
  values({ signet: { trustRoots: { bundles: { 'other.example': other.cert } } } });
  await until(() => copied('shop').includes(other.cert.trim()) && copied('plain').includes(other.cert.trim()));
  t.ok(copied('shop').includes(own.cert.trim()), 'beside those that were there');
  // A namespace that opts out still has Pods from before.
  api.put('/api/v1/namespaces/shop', { kind: 'Namespace', metadata: { name: 'shop' } });
  values({});
  await until(() => copied('shop') === own.cert);
  t.pass('and its copy is kept up to date');
});

t.test('what is wrong with the command line is said, and the program ends', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  const api = new FakeApi();
  await api.start();
  t.teardown(async () => {
    await api.stop();
    rmSync(folder, { recursive: true });
  });
  writeFileSync(join(folder, 'kubeconfig'), api.kubeconfig);
  const rows: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /signet serve needs a certificate: --self-signed, or --tls-cert and --tls-key/],
    [['--self-signed', '--ca-lifetime', '5x'], /--ca-lifetime takes a duration such as 720h; found "5x"/],
    [['--self-signed', '--log-level', 'foo'], /--log-level takes debug, info, warn or error; found "foo"/],
    [['--tls-cert', 'nope', '--tls-key', 'nope'], /--tls-cert nope, --tls-key nope: no such file/],
  ];
  for (const [flags, words] of rows) {
    const child = spawn(process.execPath, [
      'dist/signet.js',
      'serve',
      '--kubeconfig',
      join(folder, 'kubeconfig'),
      ...flags,
    ]);
    let err = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      err += piece;
    });
    const code = await new Promise((done) => child.once('close', done));
    t.equal(code, 2, flags.join(' '));
    t.match(err, words);
  }
});

t.test('a Pod that would wait for trust roots is told so, until they are there', async (t) => {
  const { api, ask } = await serving(t, { signet: { trustRoots: { distribute: false } } });
  const warnings = async () =>
    listAt(await ask('shop'), 'warnings')
      .map(String)
      .join();
  await until(async () => /ConfigMap linkerd-identity-trust-roots is not in this namespace/.test(await warnings()));
  t.notOk(api.objects.has(rootsAt('shop')), 'nobody brings them');
  api.put(rootsAt('shop'), roots('shop', 'PEM'));
  await until(async () => (await warnings()) === '');
  t.pass('and no longer when they are');
});

const certificates = {
  signet: {
    sidecar: { image: 'registry.example/envoy:1' },
    identity: {
      podCertificate: { signerName: 'example.com/workloads' },
      profiles: [{ name: 'files', source: 'podCertificate', selector: { matchLabels: {} } }],
    },
  },
};

t.test('what the API server lacks is known from the start, and when the values come to need it', async (t) => {
  const { ask, values, log } = await serving(t, {}, (api) => {
    api.metrics = gates(false);
  });
  t.match(await ask('shop'), { allowed: true });
  values(certificates);
  await until(async () => textAt(objectAt(await ask('shop'), 'status'), 'message')?.includes('lacks_feature') === true);
  t.notMatch(log(), /could not see/);
  const second = await serving(t, certificates, (api) => {
    api.metrics = gates(false);
  });
  t.match(await second.ask('shop'), { allowed: false }, 'at once where the values need it at the start');
  const third = await serving(t, certificates, (api) => {
    api.metrics = gates(true);
  });
  t.match(await third.ask('shop'), { allowed: true, patchType: 'JSONPatch' });
});

t.test('what cannot be seen is warned of, in the log at the start and to whoever creates a Pod', async (t) => {
  const { ask, log } = await serving(t, certificates);
  t.match(log(), /could not see in \/metrics of the API server whether it has Pod certificates/);
  t.match(listAt(await ask('shop'), 'warnings').join(), /could not see in \/metrics/);
});
