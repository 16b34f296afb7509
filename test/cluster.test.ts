import { X509Certificate } from 'node:crypto';
import t, { type Test } from 'tap';
import { FakeApi, until } from '../scripts/fake-api.js';
import { Api, ApiError } from '../src/cluster/api.js';
import { readSecret, writeSecret } from '../src/cluster/certificate-secret.js';
import { writeEvent } from '../src/cluster/events.js';
import { seeFeatures } from '../src/cluster/features.js';
import { backoff } from '../src/cluster/follow.js';
import { NamespaceCache } from '../src/cluster/namespaces.js';
import { registerBundle, registeredBundle } from '../src/cluster/registration.js';
import { readFlags } from '../src/commands/flags.js';
import { auditRegularly } from '../src/commands/serve-audit.js';
import { TrustRoots } from '../src/commands/serve-trust-roots.js';
import type { Namespace } from '../src/inject/decide/opt-in.js';
import { meshOf } from '../src/inject/mesh.js';
import { permissions, targetOf } from '../src/install/permissions.js';
import { webhookConfiguration } from '../src/install/registration.js';
import type { JsonObject } from '../src/json.js';
import { makeAuthority } from '../src/server/certificates/make.js';
import { bundleOf, SelfSignedCertificates, type Store, type Stored } from '../src/server/certificates/self-signed.js';
import { type EventDraft, EventRecorder } from '../src/server/events.js';
import { Metrics } from '../src/server/metrics.js';
import { type Copy, TrustRootsKeeper } from '../src/server/trust-roots.js';
import type { Values } from '../src/values/keys.js';
import { load } from '../src/values/load.js';
import { pick, plainInstall } from './support.js';

const options = { ...plainInstall, excludedNamespaces: ['kube-system'] };
const configuration = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/signet';
const every: { method: string; path: string }[] = [];

async function fake(t: Test): Promise<{ server: FakeApi; api: Api }> {
  const server = new FakeApi();
  await server.start();
  t.teardown(async () => {
    every.push(
      ...server.seen.map(({ method, path, query }) => ({ method: query.has('watch') ? 'WATCH' : method, path })),
    );
    await server.stop();
  });
  return { server, api: new Api(server.access) };
}

function namespace(name: string, annotations: JsonObject = {}): JsonObject {
  return { kind: 'Namespace', metadata: { name, labels: { 'kubernetes.io/metadata.name': name }, annotations } };
}

async function cacheOver(t: Test, api: Api, onChange?: (one: Namespace) => void) {
  const troubles: string[] = [];
  const waits: number[] = [];
  const cache = new NamespaceCache(api, {
    wait: async (ms) => {
      waits.push(ms);
      await new Promise((turn) => setImmediate(turn));
    },
    random: () => 0,
    onTrouble: (message) => troubles.push(message),
    ...(onChange === undefined ? {} : { onChange }),
  });
  const running = cache.run();
  t.teardown(async () => {
    cache.stop();
    await running;
  });
  return { cache, troubles, waits };
}

t.test('namespaces are listed page by page and followed; only what matters is kept', async (t) => {
  const { server, api } = await fake(t);
  for (let index = 0; index < 1200; index++)
    server.put(
      `/api/v1/namespaces/n${index}`,
      namespace(`n${index}`, { 'linkerd.io/inject': 'enabled', other: 'x'.repeat(100) }),
    );
  const { cache } = await cacheOver(t, api);
  await until(() => cache.isSynced && server.watching === 1);
  t.same(cache.find('n1199'), {
    name: 'n1199',
    labels: { 'kubernetes.io/metadata.name': 'n1199' },
    annotations: { 'linkerd.io/inject': 'enabled' },
  });
  t.equal(server.seen.filter(({ query }) => query.has('limit')).length, 3, 'three pages');
  server.put('/api/v1/namespaces/n0', namespace('n0', { 'signet.dev/mode': 'audit' }));
  await until(() => JSON.stringify(cache.find('n0')).includes('audit'));
  server.remove('/api/v1/namespaces/n1');
  await until(() => !cache.has('n1'));
  server.tellAll({ type: 'BOOKMARK', object: { kind: 'Namespace', metadata: { resourceVersion: '999999' } } });
  server.cutWatches();
  await until(() => server.watching === 1);
});

t.test('a miss is one live read, which requests that come meanwhile share', async (t) => {
  const { server, api } = await fake(t);
  const { cache } = await cacheOver(t, api);
  await until(() => cache.isSynced);
  server.cutWatches();
  server.objects.set('/api/v1/namespaces/late', namespace('late', { 'linkerd.io/inject': 'enabled' }));
  const found = await Promise.all(Array.from({ length: 5 }, () => cache.find('late')));
  t.ok(found.every((one) => one.annotations['linkerd.io/inject'] === 'enabled'));
  t.ok(server.seen.filter(({ path, method }) => path === '/api/v1/namespaces/late' && method === 'GET').length <= 1);
  await t.rejects(Promise.resolve(cache.find('nowhere')), /404/);
  const asked = () => server.seen.filter(({ path }) => path === '/api/v1/namespaces/nowhere').length;
  for (let again = 0; again < 50; again++)
    await t.rejects(Promise.resolve(cache.find('nowhere')), /there is no namespace nowhere/);
  t.equal(asked(), 1, 'what is not there is not asked for again at once');
});

t.test('a list that takes too long goes on from where the API server says', async (t) => {
  const { server, api } = await fake(t);
  for (const name of ['a', 'b', 'c']) server.put(`/api/v1/namespaces/${name}`, namespace(name));
  server.faults.push((response) =>
    response.writeHead(410).end(JSON.stringify({ message: 'too old', metadata: { continue: '1' } })),
  );
  const names: string[] = [];
  for await (const item of api.items('/api/v1/namespaces')) names.push(String(pick(item, '/metadata/name')));
  t.same(names, ['b', 'c']);
});

t.test('the watch survives every kind of error', async (t) => {
  const { server, api } = await fake(t);
  server.put('/api/v1/namespaces/a', namespace('a'));
  // The first lists fail: an error, no JSON, a connection that is cut.
  server.faults.push(
    (response) => response.writeHead(500).end('{"message": "etcd is slow"}'),
    (response) => response.writeHead(200).end('not json'),
    (response) => response.destroy(),
  );
  const { cache, troubles, waits } = await cacheOver(t, api);
  await until(() => cache.isSynced && server.watching === 1);
  t.equal(troubles.length, 3);
  t.same(waits.slice(0, 3), [1000, 2000, 4000], 'each wait is longer than the one before');
  const works = async (name: string) => {
    await until(() => server.watching === 1);
    server.put(`/api/v1/namespaces/${name}`, namespace(name));
    await until(() => cache.has(name));
    t.pass(`still follows after ${name}`);
  };
  server.tellAll({ type: 'ERROR', object: { kind: 'Status', code: 410, message: 'too old resource version' } });
  await works('gone');
  server.tellAll({ type: 'ERROR', object: { kind: 'Status', code: 500, message: 'internal' } });
  await works('internal');
  server.cutWatches();
  await works('cut');
  server.tellAll({ type: 'MODIFIED', object: { kind: 'Namespace', metadata: {} } });
  await works('nameless');
  t.equal(backoff(20, 1), 15_000, 'never longer than half a minute, and spread');
});

const roots = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps/linkerd-identity-trust-roots`;
const bundleIn = (server: FakeApi, namespace: string) =>
  String(pick(server.objects.get(roots(namespace)), '/data/ca-bundle.crt') ?? '');

async function pem(name: string): Promise<string> {
  return (await makeAuthority(name, { from: Date.now(), ms: 3_600_000 })).cert;
}

function configMap(namespace: string, text: string, labels: JsonObject = {}): JsonObject {
  const metadata = { name: 'linkerd-identity-trust-roots', namespace, labels };
  return { kind: 'ConfigMap', metadata, data: { 'ca-bundle.crt': text } };
}

function valuesWith(tree: JsonObject): Values {
  const result = load([{ tree, place: () => ({ from: 'default' }) }]);
  if ('mistakes' in result) throw new Error(JSON.stringify(result.mistakes));
  return result.loaded.values;
}

async function trustRootsOver(t: Test, { server, api }: { server: FakeApi; api: Api }, values: Values) {
  const troubles: string[] = [];
  const wiring = {
    wait: async () => void (await new Promise((turn) => setImmediate(turn))),
    random: () => 1,
    onTrouble: (message: string) => troubles.push(message),
  };
  const cache: NamespaceCache = new NamespaceCache(api, { ...wiring, onChange: (one) => kept.namespaceChanged(one) });
  const kept = new TrustRoots(api, wiring, cache);
  kept.use(values);
  const running = cache.run();
  t.teardown(async () => {
    kept.stop();
    cache.stop();
    await running;
  });
  await until(() => cache.isSynced && server.watching === 2);
  return { kept, troubles };
}

t.test('trust roots are kept in every namespace that opted in, and follow their source', async (t) => {
  const { server, api } = await fake(t);
  const [first, second, other] = [await pem('first'), await pem('second'), await pem('other')];
  server.put(roots('linkerd'), configMap('linkerd', first));
  server.put('/api/v1/namespaces/linkerd', namespace('linkerd'));
  server.put('/api/v1/namespaces/shop', namespace('shop', { 'linkerd.io/inject': 'enabled' }));
  server.put('/api/v1/namespaces/plain', namespace('plain'));
  server.put('/api/v1/namespaces/theirs', namespace('theirs', { 'linkerd.io/inject': 'enabled' }));
  server.put(roots('theirs'), configMap('theirs', 'made by hand'));
  const { kept } = await trustRootsOver(
    t,
    { server, api },
    valuesWith({ signet: { trustRoots: { bundles: { other } } } }),
  );
  await until(() => bundleIn(server, 'shop').includes(first.trim()));
  t.ok(bundleIn(server, 'shop').includes(other.trim()), 'with the roots of the other trust domain');
  server.put('/api/v1/namespaces/late', namespace('late', { 'linkerd.io/inject': 'ingress' }));
  await until(() => bundleIn(server, 'late') !== '');
  t.equal(bundleIn(server, 'plain'), '', 'nothing where nobody asked');
  kept.podAsked('plain');
  await until(() => bundleIn(server, 'plain') !== '');
  server.put(roots('linkerd'), configMap('linkerd', second));
  for (const name of ['shop', 'late', 'plain']) await until(() => bundleIn(server, name).includes(second.trim()));
  server.put('/api/v1/namespaces/shop', namespace('shop'));
  server.put(roots('linkerd'), configMap('linkerd', first));
  await until(() => bundleIn(server, 'shop').includes(first.trim()));
  t.pass('a namespace that opted out is kept up to date for the Pods it still has');
  server.remove(roots('late'));
  await until(() => bundleIn(server, 'late') !== '');
  t.equal(bundleIn(server, 'theirs'), 'made by hand', 'what a user made is never touched');
  t.notOk(kept.areMissingIn('elsewhere'), 'where they are about to come nobody is warned');
});

t.test('a private key among the trust roots is handed to nobody', async (t) => {
  const { server, api } = await fake(t);
  const { cert, key } = await makeAuthority('leak', { from: Date.now(), ms: 3_600_000 });
  server.put('/api/v1/namespaces/shop', namespace('shop', { 'linkerd.io/inject': 'enabled' }));
  server.put(roots('linkerd'), configMap('linkerd', cert + key));
  const { troubles } = await trustRootsOver(t, { server, api }, valuesWith({}));
  await until(() => troubles.some((one) => one.includes('PRIVATE KEY')));
  t.equal(bundleIn(server, 'shop'), '');
  const expired = (await makeAuthority('old', { from: Date.now() - 7_200_000, ms: 3_600_000 })).cert;
  server.put(roots('linkerd'), configMap('linkerd', expired));
  await until(() => troubles.some((one) => /expired: .*CN=old/.test(one)));
  t.pass('an expired root is named');
});

/** Copies in memory, and time that passes when a test says so. */
function keeperOver(values: Values, store: Map<string, Copy>, broken: readonly string[] = []) {
  let writes = 0;
  const waiting: (() => void)[] = [];
  const write = async (name: string, labels: JsonObject, data: JsonObject) => {
    if (broken.includes(name)) throw new Error('exceeded quota');
    writes++;
    store.set(name, { data, labels, version: '1' });
    return true;
  };
  const opted = ['a', 'b', 'c'].map((name) => ({ name, labels: {}, annotations: { 'linkerd.io/inject': 'enabled' } }));
  const troubles: string[] = [];
  const keeper = new TrustRootsKeeper({
    copies: {
      isSynced: true,
      get: (name) => store.get(name),
      create: write,
      update: (name, { labels }, data) => write(name, labels, data),
    },
    values: () => values,
    namespaces: () => opted,
    namespace: (name) => opted.find((one) => one.name === name),
    onTrouble: (message) => troubles.push(message),
    expired: () => [],
    backoff: () => 1,
    later: (_ms, what) => waiting.push(what),
  });
  return { keeper, waiting, troubles, count: () => writes };
}

t.test(
  'replicas with different values do not fight over a copy, and one broken namespace holds up no other',
  async (t) => {
    const store = new Map<string, Copy>();
    store.set('linkerd', { data: { 'ca-bundle.crt': await pem('root') }, labels: {}, version: '1' });
    const settled = async () => {
      for (let turns = 0; turns < 50; turns++) await new Promise((turn) => setImmediate(turn));
    };
    const old = keeperOver(valuesWith({}), store);
    const next = keeperOver(valuesWith({ signet: { trustRoots: { bundles: { other: await pem('other') } } } }), store);
    for (let round = 0; round < 20; round++) {
      old.keeper.lookAtAll();
      await settled();
      next.keeper.lookAtAll();
      await settled();
    }
    t.ok(old.count() + next.count() < 70, `${old.count() + next.count()} writes in 120 looks at three copies`);
    t.ok(old.waiting.length > 0, 'whoever is undone waits');
    const fresh = new Map([...store].filter(([name]) => name === 'linkerd'));
    const hurt = keeperOver(valuesWith({}), fresh, ['a']);
    hurt.keeper.lookAtAll();
    await settled();
    t.same([...fresh.keys()].sort(), ['b', 'c', 'linkerd']);
    for (const again of hurt.waiting.splice(0)) again();
    await settled();
    t.same(hurt.troubles, ['trust roots of a: exceeded quota'], 'said once');
    t.equal(hurt.waiting.length, 1, 'and tried again');
  },
);

t.test('without distribution a namespace that lacks the ConfigMap is known to lack it', async (t) => {
  const { server, api } = await fake(t);
  server.put(roots('shop'), configMap('shop', 'x'));
  const { kept } = await trustRootsOver(
    t,
    { server, api },
    valuesWith({ signet: { trustRoots: { distribute: false } } }),
  );
  await until(() => kept.areMissingIn('bare'));
  t.notOk(kept.areMissingIn('shop'));
  server.put(roots('bare'), configMap('bare', 'x'));
  await until(() => !kept.areMissingIn('bare'));
  t.equal(bundleIn(server, 'bare'), 'x', 'nothing is written');
});

t.test('the API server is asked for its gates; not being allowed to look is an answer', async (t) => {
  const { server, api } = await fake(t);
  const gate = (name: string, on: number) => `kubernetes_feature_enabled{name="${name}",stage="BETA"} ${on}\n`;
  server.metrics = `# HELP x\n${gate('PodCertificateRequest', 1)}${gate('ClusterTrustBundle', 1)}${gate('ClusterTrustBundleProjection', 0)}`;
  t.same(await seeFeatures(api), { podCertificate: 'on', clusterTrustBundle: 'off' });
  server.metrics = gate('Other', 1);
  t.same(await seeFeatures(api), { podCertificate: 'off', clusterTrustBundle: 'off' }, 'a server too old for them');
  server.faults.push((response) => response.writeHead(403).end('{"message": "no"}'));
  t.same(await seeFeatures(api), { podCertificate: 'unknown', clusterTrustBundle: 'unknown' });
});

t.test('the cluster is audited beside the webhook, page by page, and the counts are metrics', async (t) => {
  const { server, api } = await fake(t);
  server.put('/api/v1/namespaces/shop', namespace('shop', { 'linkerd.io/inject': 'enabled' }));
  const pod = (name: string, phase: string): JsonObject => ({
    metadata: { name, namespace: 'shop' },
    spec: { containers: [{ name: 'app', image: 'i' }] },
    status: { phase },
  });
  for (let index = 0; index < 501; index++)
    server.put(`/api/v1/namespaces/shop/pods/p${index}`, pod(`p${index}`, 'Running'));
  server.put('/api/v1/namespaces/shop/pods/over', pod('over', 'Succeeded'));
  const metrics = new Metrics();
  const loaded = load([]);
  if ('mistakes' in loaded) throw new Error('the defaults are not valid');
  const mesh = meshOf(loaded.loaded, 'signet test', () => '');
  const given = readFlags(['--audit-interval', '1h'], ['audit-interval']);
  const stop = auditRegularly(
    given,
    api,
    () => mesh,
    metrics,
    (message) => t.fail(message),
  );
  t.teardown(stop);
  const count = async () =>
    (await metrics.auditFindings.get()).values.find(({ labels }) => labels.finding === 'missing')?.value;
  await until(async () => (await count()) === 501);
  t.equal((await metrics.auditedPods.get()).values[0]?.value, 501, 'what is over does not count');
  const wrong = readFlags(['--audit-interval', 'often'], ['audit-interval']);
  t.throws(
    () =>
      auditRegularly(
        wrong,
        api,
        () => mesh,
        metrics,
        () => {},
      ),
    /--audit-interval takes a duration/,
  );
});

t.test('the bundle is set on every entry by JSON Patch, and repaired when it drifts', async (t) => {
  const { server, api } = await fake(t);
  server.put(configuration, webhookConfiguration(options));
  t.equal(await registeredBundle(api, 'signet'), undefined);
  t.equal(await registerBundle(api, 'signet', 'BUNDLE'), true);
  t.equal(await registeredBundle(api, 'signet'), 'BUNDLE');
  t.equal(await registerBundle(api, 'signet', 'BUNDLE'), false, 'nothing to do');
  const patch = server.seen.find(({ method }) => method === 'PATCH');
  t.equal(patch?.query.get('fieldManager'), 'signet-ca');
  t.match(patch?.body, [
    { op: 'test', path: '/webhooks/0/name', value: 'namespace.signet.dev' },
    { op: 'add', path: '/webhooks/0/clientConfig/caBundle' },
  ]);
  const drifted = structuredClone(server.objects.get(configuration) ?? {});
  Object.assign(pick(drifted, '/webhooks/2/clientConfig') ?? {}, { caBundle: 'b3RoZXI=' });
  server.put(configuration, drifted);
  t.equal(await registeredBundle(api, 'signet'), undefined);
  await registerBundle(api, 'signet', 'BUNDLE');
  t.equal(await registeredBundle(api, 'signet'), 'BUNDLE');
  // The entries change between the look and the patch: look again.
  server.faults.push((response) => {
    response.writeHead(200).end(JSON.stringify({ webhooks: [{ name: 'gone.signet.dev', clientConfig: {} }] }));
  });
  await registerBundle(api, 'signet', 'NEW');
  t.equal(await registeredBundle(api, 'signet'), 'NEW');
});

t.test('a Secret is written by whoever comes first', async (t) => {
  const { api } = await fake(t);
  t.equal(await readSecret(api, 'signet', 'signet-tls'), undefined);
  t.equal(await writeSecret(api, 'signet', 'signet-tls', { a: 'é' }, undefined), true);
  t.equal(await writeSecret(api, 'signet', 'signet-tls', { a: 'late' }, undefined), false);
  const found = await readSecret(api, 'signet', 'signet-tls');
  t.same(found?.texts, { a: 'é' });
  t.equal(await writeSecret(api, 'signet', 'signet-tls', { a: 'two' }, found?.version), true);
  t.equal(
    await writeSecret(api, 'signet', 'signet-tls', { a: 'three' }, found?.version),
    false,
    'based on an old version',
  );
});

/** A store in memory with versions, a clock that the test moves, and a registration that keeps its history. */
function world() {
  let stored: Stored | undefined;
  let version = 0;
  const bundles: string[] = [];
  const state = { now: Date.now() };
  const store: Store = {
    read: async () => (version === 0 ? undefined : { stored, version: String(version) }),
    write: async (next, basedOn) => {
      if (basedOn !== (version === 0 ? undefined : String(version))) return false;
      stored = next;
      version++;
      return true;
    },
  };
  return {
    store,
    bundles,
    state,
    replace: (next: Stored | undefined) => {
      stored = next;
      version++;
    },
    stored: () => stored,
  };
}

function replica(t: Test, at: ReturnType<typeof world>, register?: (bundle: string) => Promise<void>) {
  const served: string[] = [];
  const ticks: (() => void)[] = [];
  const troubles: string[] = [];
  const lifetimes = { authorityMs: 90 * 60_000, leafMs: 30 * 60_000, checkMs: 1, settleMs: 2 };
  const certificates = new SelfSignedCertificates({
    store: at.store,
    register:
      register ??
      (async (bundle) => {
        at.bundles.push(bundle);
      }),
    dnsNames: ['signet.signet.svc'],
    addresses: ['127.0.0.1'],
    lifetimes,
    now: () => at.state.now,
    // A check waits until the test says so; settling does not.
    wait: (ms, signal) =>
      ms === 1
        ? new Promise((resolve, reject) => {
            ticks.push(resolve);
            signal.addEventListener('abort', reject);
          })
        : Promise.resolve(),
    onTrouble: (message) => troubles.push(message),
  });
  const stop = certificates.watch(({ cert }) => {
    const leaf = new X509Certificate(cert);
    const verified = (at.bundles.at(-1) ?? '')
      .split(/(?=-----BEGIN)/)
      .some((ca) => ca.trim() !== '' && leaf.verify(new X509Certificate(ca).publicKey));
    served.push(verified ? 'verified' : 'NOT VERIFIED');
  });
  t.teardown(stop);
  const tick = async () => {
    await until(() => ticks.length > 0);
    ticks.shift()?.();
    await until(() => ticks.length > 0);
  };
  return { certificates, served, troubles, tick };
}

t.test(
  'two replicas agree on one certificate, renew it in time, and never serve what is not trusted yet',
  async (t) => {
    const at = world();
    const [one, two] = [replica(t, at), replica(t, at)];
    await Promise.all([one.certificates.start(), two.certificates.start()]);
    t.equal(one.certificates.current().cert, two.certificates.current().cert, 'the second took what the first made');
    const first = one.certificates.current().cert;
    t.ok(new X509Certificate(first).checkHost('signet.signet.svc'));
    t.equal(new X509Certificate(first).publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
    await one.tick();
    t.equal(one.certificates.current().cert, first, 'a good certificate stays');
    at.state.now += 21 * 60_000; // less than a third of the leaf's life is left
    await two.tick();
    await one.tick();
    const second = two.certificates.current().cert;
    t.not(second, first);
    t.equal(one.certificates.current().cert, second);
    at.state.now += 45 * 60_000; // now of the authority's as well
    await one.tick();
    await two.tick();
    t.equal(at.stored()?.previous.includes('BEGIN CERTIFICATE'), true);
    t.equal((at.bundles.at(-1)?.match(/BEGIN CERTIFICATE/g) ?? []).length, 2, 'the bundle carries old and new');
    t.ok(
      new X509Certificate(second).verify(new X509Certificate(at.stored()?.previous ?? '').publicKey),
      'who still serves the old one is still trusted',
    );
    t.notOk([...one.served, ...two.served].includes('NOT VERIFIED'));
    at.state.now += 60 * 60_000; // the old authority is over
    await one.tick();
    t.equal((bundleOf(at.stored() ?? never(), at.state.now + 91 * 60_000).match(/BEGIN CERTIFICATE/g) ?? []).length, 1);
  },
);

t.test('a Secret that was deleted or edited is made anew, and trouble leaves the old certificate', async (t) => {
  const at = world();
  let broken = false;
  const one = replica(t, at, async (bundle) => {
    if (broken) throw new ApiError(500, 'the API server is away');
    at.bundles.push(bundle);
  });
  await one.certificates.start();
  const first = one.certificates.current().cert;
  broken = true;
  at.replace(undefined);
  await one.tick();
  t.equal(one.certificates.current().cert, first, 'not served before it is registered');
  t.match(one.troubles, ['certificates: the API server is away']);
  broken = false;
  await one.tick();
  const second = one.certificates.current().cert;
  t.not(second, first);
  const stored = at.stored() ?? never();
  at.replace({ ...stored, leaf: { cert: stored.leaf.cert, key: stored.authority.key } });
  await one.tick();
  t.not(one.certificates.current().cert, second, 'a key that does not fit is replaced');
  t.notOk(one.served.includes('NOT VERIFIED'));
});

t.test('Events go to the owner, once, off the hot path, and never for Pods that did not ask', async (t) => {
  const { server, api } = await fake(t);
  const drafts: EventDraft[] = [];
  const troubles: string[] = [];
  let now = 0;
  const recorder = new EventRecorder({
    write: async (draft) => {
      drafts.push(draft);
      await writeEvent(api, draft, new Date(0));
    },
    now: () => now,
    onTrouble: (message) => troubles.push(message),
  });
  const decide = (
    uid: string,
    askedBy: 'namespace' | undefined,
    outcome: 'injected' | 'skipped' = 'injected',
    reason: string = outcome,
  ) => {
    const holder =
      uid === '' ? undefined : { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', namespace: 'shop', uid };
    const about = { name: 'web-1-', owner: undefined, holder, askedBy, message: 'm' };
    recorder.decided('shop', { outcome, reason, answer: { allowed: true, patch: [], rest: '' }, about });
  };
  decide('a', 'namespace');
  decide('a', 'namespace');
  decide('b', undefined);
  decide('', 'namespace');
  decide('a', 'namespace', 'skipped', 'already_injected');
  decide('a', 'namespace', 'skipped', 'host_network_enabled');
  await until(() => server.seen.length === 2);
  t.same(
    drafts.map(({ reason }) => reason),
    ['Injected', 'InjectionSkipped'],
  );
  t.match(server.seen[0]?.body, {
    involvedObject: { kind: 'ReplicaSet', name: 'web-1', uid: 'a', namespace: 'shop' },
    type: 'Normal',
    source: { component: 'signet' },
  });
  now += 11 * 60_000;
  decide('a', 'namespace');
  await until(() => drafts.length === 3);
  now += 1000;
  for (let stranger = 0; stranger < 300; stranger++) decide(`made-up-${stranger}`, 'namespace');
  await until(() => drafts.length === 13);
  now += 1000;
  decide('after', 'namespace');
  await until(() => drafts.length === 14);
  t.pass('ten a second, however many owners somebody makes up');
  server.faults.push((response) => response.writeHead(403).end('{"message":"forbidden"}'));
  decide('c', 'namespace');
  await until(() => troubles.length === 1);
  t.match(troubles[0], 'events: 403: forbidden');
});

t.test('everything that was asked of the API server is granted, and nothing else is', async (t) => {
  const verbs: { readonly [method: string]: string } = {
    GET: 'get',
    POST: 'create',
    PUT: 'update',
    PATCH: 'patch',
    WATCH: 'watch',
  };
  const used = new Set(
    every.map(({ method, path }) => {
      const [, resource = '', name] =
        /(?:\/v1|\/namespaces\/[^/]+)\/(namespaces|secrets|events|configmaps|pods|mutatingwebhookconfigurations)(?:\/([^/]+))?$/.exec(
          path,
        ) ?? [];
      const verb =
        method === 'GET' && /namespaces|configmaps|pods/.test(resource) && name === undefined
          ? 'list'
          : (verbs[method] ?? method);
      return `${verb} ${resource || path}`;
    }),
  );
  const granted = new Set(permissions.flatMap((one) => one.verbs.map((verb) => `${verb} ${targetOf(one)}`)));
  t.same([...used].sort(), [...granted].sort());
});

function never(): never {
  throw new Error('there must be something here');
}
