import t from 'tap';
import { inject } from '../src/inject/inject.js';
import { meshOf } from '../src/inject/mesh.js';
import { origins } from '../src/inject/origin.js';
import { annotations, inheritedKeys } from '../src/inject/settings/annotations.js';
import { duration, milliseconds, wholeSeconds } from '../src/inject/settings/duration.js';
import { envVars } from '../src/inject/settings/env-vars.js';
import { bool, count, int32, int64, onOff, type Parsed, ratio } from '../src/inject/settings/parsers.js';
import { canonicalQuantity, quantity, wholeCores } from '../src/inject/settings/quantity.js';
import { type Json, type JsonObject, pointer } from '../src/json.js';
import { table } from '../src/values/keys.js';
import { type Layer, load, type Mistake } from '../src/values/load.js';
import { eachLeaf } from '../src/values/schema.js';
import { pick } from './support.js';

function resultOf<T>(parsed: Parsed<T>): T | undefined {
  return parsed.ok ? parsed.value : undefined;
}

t.test('durations are read as Go reads them', async (t) => {
  const rows: readonly [string, string | undefined, string | undefined][] = [
    ['0', '0ms', '0s'],
    ['300ms', '300ms', '0s'],
    ['1.5h', '5400000ms', '5400s'],
    ['2m3s', '123000ms', '123s'],
    ['6s5ms', '6005ms', '6s'],
    ['6s5000ms', '11000ms', '11s'],
    ['1001ms', '1000ms', '1s'], // a double is cut off, there as here
    ['-1s', '-1000ms', '-1s'],
    ['+1s', '1000ms', '1s'],
    ['1us', '0ms', '0s'],
    ['1µs1μs1ns', '0ms', '0s'],
    ['.5s', '500ms', '0s'],
    ['1.s', '1000ms', '1s'],
    ['2562047h47m16.854775807s', '9223372036854ms', '9223372036s'],
    ['2562048h', undefined, undefined],
    ['6000', undefined, undefined],
    ['', undefined, undefined],
    ['s', undefined, undefined],
    ['.s', undefined, undefined],
    ['1d', undefined, undefined],
    ['1 s', undefined, undefined],
    ['1s ', undefined, undefined],
    ['--1s', undefined, undefined],
  ];
  for (const [text, inMilliseconds, inSeconds] of rows) {
    const nanoseconds = resultOf(duration(text));
    t.equal(
      nanoseconds === undefined ? undefined : milliseconds(nanoseconds),
      inMilliseconds,
      `${JSON.stringify(text)} in milliseconds`,
    );
    t.equal(
      nanoseconds === undefined ? undefined : wholeSeconds(nanoseconds),
      inSeconds,
      `${JSON.stringify(text)} in seconds`,
    );
  }
});

t.test('quantities are read as Kubernetes reads them', async (t) => {
  const rows: readonly [string, number | undefined, string][] = [
    ['1', 1, '1'],
    ['0.15', 1, '150m'],
    ['1.5', 2, '1500m'],
    ['100m', 1, '100m'],
    ['2000m', 2, '2'],
    ['0', 0, '0'],
    ['-1.5', -2, '-1500m'],
    ['1e3', 1000, '1k'],
    ['1E', 1e18 > Number.MAX_SAFE_INTEGER ? undefined : 1e18, '1E'],
    ['1Ki', 1024, '1Ki'],
    ['1024Mi', 1024 ** 3, '1Gi'],
    ['0.5Gi', 512 * 1024 ** 2, '512Mi'],
    ['1000', 1000, '1k'],
    ['5u', 1, '5u'],
    ['x', undefined, 'x'],
    ['', undefined, ''],
    ['1mi', undefined, '1mi'],
    ['1 m', undefined, '1 m'],
    ['.', undefined, '.'],
  ];
  for (const [text, cores, canonical] of rows) {
    const parsed = quantity(text);
    t.equal(parsed.ok ? resultOf(wholeCores(parsed.value)) : undefined, cores, `${JSON.stringify(text)} in cores`);
    t.equal(canonicalQuantity(text), canonical, `${JSON.stringify(text)} as Kubernetes prints it`);
  }
});

t.test('numbers and switches are read as Go reads them', async (t) => {
  t.equal(resultOf(int32('2147483647')), 2147483647);
  for (const text of ['2147483648', '', ' 1', '1.0', '0x1', '1_0', 'NaN'])
    t.equal(int32(text).ok, false, JSON.stringify(text));
  t.equal(resultOf(int32('-0')), 0);
  t.equal(resultOf(int64('+1000650000')), 1000650000);
  t.equal(count('+1').ok, false, 'a count has no sign');
  for (const text of ['1', 't', 'T', 'TRUE', 'true', 'True']) t.equal(resultOf(bool(text)), true, text);
  for (const text of ['0', 'f', 'F', 'FALSE', 'false', 'False']) t.equal(resultOf(bool(text)), false, text);
  for (const text of ['yes', 'tRUE', '']) t.equal(bool(text).ok, false, JSON.stringify(text));
  t.equal(resultOf(onOff('enabled')), true);
  t.equal(onOff('true').ok, false);
  t.equal(resultOf(ratio('0.10')), 0.1);
  for (const text of ['0', '1', '-0.5', 'x', '']) t.equal(ratio(text).ok, false, JSON.stringify(text));
});

t.test('environment variables lose what Kubernetes does not know', async (t) => {
  const read = (json: Json) => resultOf(envVars(JSON.stringify(json)));
  t.same(read([{ name: 'A', value: '', odd: 1 }]), [{ name: 'A' }]);
  t.same(read([{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } }]), [
    { name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } } },
  ]);
  t.same(read(null), []);
  for (const wrong of [{}, [1], [{ value: 'a' }], [{ name: 1 }], [{ name: 'A', value: 1 }]])
    t.equal(read(wrong), undefined, JSON.stringify(wrong));
  t.equal(envVars('not json').ok, false);
});

const place = () => ({ from: 'set', text: 'test' }) as const;
const layer = (tree: JsonObject): Layer => ({ tree, place });

function mistakesIn(...trees: JsonObject[]): readonly Mistake[] {
  const result = load(trees.map(layer));
  return 'mistakes' in result ? result.mistakes : [];
}

function meshWith(...trees: JsonObject[]) {
  const result = load(trees.map(layer));
  if ('mistakes' in result) throw new Error(JSON.stringify(result.mistakes));
  return meshOf(result.loaded, 'signet', () => 'checksum');
}

t.test('values that cannot be are told at once, each with what was expected', async (t) => {
  t.same(
    mistakesIn({ proxy: { uid: 'x', await: 'true' }, clusterNetworks: 'x', signet: { preset: 'istio' } }).map(
      (one) => one.path,
    ),
    ['clusterNetworks', 'proxy.await', 'proxy.uid', 'signet.preset'],
  );
  t.match(mistakesIn({ signet: { identity: { token: { expirationSeconds: 3607 } } } }), [
    { path: 'signet.identity.token.expirationSeconds', found: '3607' },
  ]);
  for (const expirationSeconds of [599, 86401])
    t.equal(mistakesIn({ signet: { identity: { token: { expirationSeconds } } } }).length, 1);
  t.match(mistakesIn({ signet: { preset: 'linkerd' } }), [{ path: 'identityTrustAnchorsPEM', found: 'nothing' }]);
  t.match(mistakesIn({ proxy: { tracing: { enabled: true } } }), [
    { path: 'proxy.tracing.collector.endpoint' },
    { path: 'proxy.tracing.collector.meshIdentity.serviceAccountName' },
    { path: 'proxy.tracing.collector.meshIdentity.namespace' },
  ]);
  t.match(mistakesIn({ proxyInit: { closeWaitTimeoutSecs: 5 } }), [
    { path: 'proxyInit.closeWaitTimeoutSecs', found: '5' },
  ]);
  t.match(mistakesIn({ proxyInit: { iptablesMode: 'ebpf' } }), [{ expected: 'one of nft, legacy' }]);
  t.match(mistakesIn({ proxy: [1] }), [{ path: 'proxy', expected: 'a map', found: 'a list' }]);
  t.match(mistakesIn({ linkerdVersion: null }), [{ path: 'linkerdVersion' }]);
  t.match(mistakesIn({ signet: { trustroots: {} } }), [
    { path: 'signet.trustroots', advice: 'did you mean signet.trustRoots?' },
  ]);
  t.match(mistakesIn({ signet: { zzz: {} } }), [{ advice: /^known keys here: preset, / }]);
  t.same(
    mistakesIn({ somethingOfTheControlPlane: 1, proxy: { alsoUnknown: 1 } }),
    [],
    'what is not ours is not ours to judge',
  );
});

t.test('networks are CIDRs or nothing', async (t) => {
  const isFine = (clusterNetworks: string) => mistakesIn({ clusterNetworks }).length === 0;
  for (const good of ['', ',10.0.0.0/8,', '10.0.0.0/8,fd00::/8', '::/0', '1:2:3:4:5:6:7:8/128'])
    t.ok(isFine(good), good);
  for (const bad of [
    '10.0.0.0',
    '10.0.0/8',
    '256.0.0.0/8',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/8 ,1.0.0.0/8',
    'a,b',
    '/8',
  ])
    t.notOk(isFine(bad), bad);
});

t.test('keys of Linkerd are found whatever their case, text is made of scalars, null deletes', async (t) => {
  const { values } = meshWith(
    { PROXY: { Image: { Version: 2 } }, imagePullPolicy: true },
    { proxy: { outboundConnectTimeout: null } },
  );
  t.equal(values.proxy.image.version, '2');
  t.equal(values.imagePullPolicy, 'true');
  t.equal(values.proxy.outboundConnectTimeout, '');
});

t.test('defaults of maps do not come back into a file that holds the whole chart', async (t) => {
  const whole = {
    clusterDomain: 'd',
    clusterNetworks: '',
    debugContainer: {},
    identity: {},
    imagePullPolicy: '',
    linkerdVersion: 'v',
    networkValidator: {},
    proxy: { inbound: { server: {} } },
    proxyInit: {},
  };
  t.same(meshWith(whole).values.proxy.inbound, { server: {} });
  t.same(meshWith(whole).values.proxy.ports.admin, 4191, 'other keys have theirs');
  t.same(meshWith({ proxy: { inbound: { server: { http2: { keepAliveTimeout: '9s' } } } } }).values.proxy.inbound, {
    server: { http2: { keepAliveInterval: '10s', keepAliveTimeout: '9s' } },
  });
});

t.test(
  'every annotation of the table sets what it says, from the Pod and where inherited from the namespace',
  async (t) => {
    const mesh = meshWith({ proxyInit: { runAsRoot: true } });
    const paths = new Set<string>();
    eachLeaf(table, (path) => paths.add(path.join('.')));
    const samples: { readonly [expected: string]: string } = {
      int32: '7',
      int64: '7',
      uint64: '7',
      bool: 'true',
      quantity: '3',
      duration: '7s',
      text: 'x',
      ports: '7',
      CIDRs: '7.0.0.0/8',
      'off, insecure': 'insecure',
      'enabled, disabled': 'enabled',
      'true, yes, enabled, false, no, disabled': 'yes',
      'number between 0 and 1': '0.5',
      'ports, ranges, names of container ports': '7',
    };
    const pod = (annotations: JsonObject): JsonObject => ({
      kind: 'Pod',
      metadata: { name: 'p', annotations: { 'linkerd.io/inject': 'enabled', ...annotations } },
      spec: { containers: [{ name: 'a', image: 'a' }] },
    });
    const settingsOf = (own: JsonObject, above: JsonObject) =>
      inject(mesh, {
        object: pod(own),
        namespace: { name: 'n', labels: {}, annotations: above },
        origin: origins.webhook,
      }).plan?.settings;
    for (const row of annotations) {
      for (const path of row.sets) t.ok(paths.has(path), `${row.key} sets ${path}, which is a value`);
      const sample = samples[row.expected] ?? 'deny';
      t.same(
        settingsOf({ [row.key]: sample }, {})?.applied.map((one) => one.change.path),
        row.sets,
        `${row.key} on the Pod`,
      );
      const above = settingsOf({}, { [row.key]: sample });
      t.same(
        above?.applied.map((one) => one.change.path),
        row.inherited ? row.sets : [],
        `${row.key} on the namespace`,
      );
      t.equal(above?.added.get(row.key), row.inherited ? sample : undefined);
    }
    t.equal(new Set(annotations.map(({ key }) => key)).size, annotations.length, 'no key is there twice');
    t.equal(inheritedKeys.length, 43);
  },
);

t.test('older spellings of native sidecar yield to newer ones, even to one that cannot be read', async (t) => {
  const [stable, beta, alpha] = ['config', 'config.beta', 'config.alpha'].map(
    (one) => `${one}.linkerd.io/proxy-enable-native-sidecar`,
  );
  const isNative = (own: JsonObject, above: JsonObject = {}) => {
    const object = {
      kind: 'Pod',
      metadata: { name: 'p', annotations: { 'linkerd.io/inject': 'enabled', ...own } },
      spec: { containers: [{ name: 'a', image: 'a' }] },
    };
    return inject(meshWith(), {
      object,
      namespace: { name: 'n', labels: {}, annotations: above },
      origin: origins.webhook,
    }).plan?.settings.values.proxy.nativeSidecar;
  };
  t.equal(isNative({ [alpha ?? '']: 'false' }), false);
  t.equal(isNative({ [alpha ?? '']: 'false', [beta ?? '']: 'true' }), true);
  t.equal(isNative({ [beta ?? '']: 'false', [stable ?? '']: 'x' }), true, 'the values hold');
  t.equal(
    isNative({ [beta ?? '']: 'false' }, { [stable ?? '']: 'true' }),
    true,
    "the namespace's newer spelling wins, as in Linkerd",
  );
});

t.test('what Linkerd refuses is refused with its preset, and ignored with ours', async (t) => {
  const object = (annotations: JsonObject) => ({
    kind: 'Pod',
    metadata: { name: 'p', annotations: { 'linkerd.io/inject': 'enabled', ...annotations } },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  });
  const outcome = (annotations: JsonObject, values: JsonObject) => {
    const { outcome, reason } = inject(meshWith({ identityTrustAnchorsPEM: 'x' }, values), {
      object: object(annotations),
      namespace: { name: 'n', labels: {}, annotations: {} },
      origin: origins.webhook,
    });
    return `${outcome} ${reason}`;
  };
  const headers = { 'config.linkerd.io/proxy-log-http-headers': 'all' };
  const wait = { 'config.linkerd.io/close-wait-timeout': '5s' };
  const linkerd = { signet: { preset: 'linkerd' } };
  t.equal(outcome(headers, linkerd), 'refuse invalid_annotation');
  t.equal(outcome(wait, linkerd), 'refuse invalid_annotation');
  t.equal(outcome({ 'config.linkerd.io/proxy-await': 'x' }, linkerd), 'inject injected');
  t.equal(outcome(headers, {}), 'inject injected');
  t.equal(outcome(wait, { proxyInit: { runAsRoot: true } }), 'inject injected');
  t.equal(
    outcome(
      { 'config.linkerd.io/proxy-uid': '1' },
      { signet: { onInvalidAnnotation: 'deny', overrides: { deny: ['config.linkerd.io/proxy-uid'] } } },
    ),
    'refuse override_denied',
  );
});

t.test('the init container of a close-wait timeout is privileged', async (t) => {
  const object = {
    kind: 'Pod',
    metadata: {
      name: 'p',
      annotations: { 'linkerd.io/inject': 'enabled', 'config.linkerd.io/close-wait-timeout': '1m30s' },
    },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  };
  const { additions } = inject(meshWith({ proxyInit: { runAsRoot: true } }), {
    object,
    namespace: { name: 'n', labels: {}, annotations: {} },
    origin: origins.webhook,
  });
  const init = additions.find(({ path }) => pointer(path) === '/spec/initContainers/0')?.value;
  t.same(pick(init, '/args'), [
    '--firewall-bin-path',
    'iptables-nft',
    '--firewall-save-bin-path',
    'iptables-nft-save',
    '--ipv6=false',
    '--incoming-proxy-port',
    '4143',
    '--outgoing-proxy-port',
    '4140',
    '--proxy-uid',
    '2102',
    '--inbound-ports-to-ignore',
    '4190,4191,4567,4568',
    '--outbound-ports-to-ignore',
    '4567,4568',
    '--timeout-close-wait-secs',
    '90',
  ]);
  t.match(pick(init, '/securityContext'), { privileged: true, runAsUser: 0, runAsNonRoot: false });
});
