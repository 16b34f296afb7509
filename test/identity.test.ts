import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import jsonpatch, { type Operation } from 'fast-json-patch';
import t from 'tap';
import { admit } from '../src/admission/admit.js';
import { bareNamespace } from '../src/inject/decide/opt-in.js';
import { inject, type Verdict } from '../src/inject/inject.js';
import { type Mesh, meshOf } from '../src/inject/mesh.js';
import { origins } from '../src/inject/origin.js';
import { patchOf } from '../src/inject/patch.js';
import { violations } from '../src/inject/pod-security.js';
import { uninject, uninjected } from '../src/inject/uninject.js';
import { at, type Json, type JsonObject, listAt, objectAt, textAt } from '../src/json.js';
import { makeAuthority } from '../src/server/certificates/make.js';
import { load } from '../src/values/load.js';
import { workload } from './generate.js';
import { documentsIn, pick, signet, structuralFaults, templatesIn } from './support.js';

const shop = bareNamespace('shop');

function meshWith(tree: JsonObject, features: Mesh['features'] = {}): Mesh {
  const result = load([{ tree, place: () => ({ from: 'default' }) }]);
  if ('mistakes' in result) throw new Error(JSON.stringify(result.mistakes));
  return meshOf(result.loaded, 'signet test', () => 'checksum', features);
}

function pod(labels: JsonObject, annotations: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels, annotations: { 'linkerd.io/inject': 'enabled', ...annotations } },
    spec: { serviceAccountName: 'cart', containers: [{ name: 'web', image: 'i' }] },
  };
}

function judge(mesh: Mesh, object: JsonObject, namespace = shop): Verdict {
  return inject(mesh, { object, namespace, origin: origins.webhook });
}

function patched(object: JsonObject, { additions }: Verdict): JsonObject {
  const operations = JSON.parse(JSON.stringify(patchOf(additions))) as Operation[];
  return jsonpatch.applyPatch(structuredClone(object), operations, true).newDocument;
}

t.test('of the profiles that select a Pod one wins', async (t) => {
  const profile = (name: string, selector: Json | undefined, source = 'spire'): JsonObject =>
    selector === undefined ? { name, source } : { name, source, selector };
  const labels = (...keys: readonly string[]): JsonObject => ({
    matchLabels: Object.fromEntries(keys.map((key) => [key, 'x'])),
  });
  const table: readonly (readonly [string, readonly JsonObject[], JsonObject, JsonObject, string | null])[] = [
    ['no profile at all', [], { a: 'x' }, {}, null],
    ['one that selects', [profile('p', labels('a'))], { a: 'x' }, {}, 'p'],
    ['one whose label has another value', [profile('p', labels('a'))], { a: 'y' }, {}, null],
    ['one without a selector selects nothing', [profile('p', undefined)], { a: 'x' }, {}, null],
    ['one with an empty selector selects nothing', [profile('p', {})], { a: 'x' }, {}, null],
    ['empty matchLabels select everything', [profile('p', { matchLabels: {} })], {}, {}, 'p'],
    ['more keys win', [profile('a', labels('a')), profile('z', labels('a', 'b'))], { a: 'x', b: 'x' }, {}, 'z'],
    [
      'more keys that do not match do not',
      [profile('a', labels('a')), profile('z', labels('a', 'b'))],
      { a: 'x' },
      {},
      'a',
    ],
    [
      'ties go to the smallest name',
      [profile('b', labels('a')), profile('a', labels('b'))],
      { a: 'x', b: 'x' },
      {},
      'a',
    ],
    [
      'names are compared bare: a before a-b',
      [profile('a-b', labels('a')), profile('a', labels('a'))],
      { a: 'x' },
      {},
      'a',
    ],
    [
      'the annotation names a profile that does not select',
      [profile('p', undefined)],
      {},
      { 'signet.dev/identity': 'p' },
      'p',
    ],
    [
      'the annotation names a source',
      [profile('p', { matchLabels: {} })],
      {},
      { 'signet.dev/identity': 'token' },
      null,
    ],
  ];
  for (const [title, profiles, own, annotations, winner] of table) {
    const { plan } = judge(meshWith({ signet: { identity: { profiles } } }), pod(own, annotations));
    t.equal(plan?.settings.choice.profile?.name ?? null, winner, title);
  }
});

t.test('templates are filled from the Pod', async (t) => {
  const long = 'x'.repeat(255);
  const good: readonly (readonly [JsonObject, string])[] = [
    [{}, 'spiffe://cluster.local/ns/shop/sa/cart'],
    [{ trustDomain: 'prod.example' }, 'spiffe://prod.example/ns/shop/sa/cart'],
    [{ path: '/{{.Workload}}' }, 'spiffe://cluster.local/web'],
    [{ path: '/{{ label "team" }}/{{ label `app.kubernetes.io/name` }}' }, 'spiffe://cluster.local/red/web'],
    [{ trustDomain: '{{ .Namespace }}.{{ .TrustDomain }}', path: '' }, 'spiffe://shop.cluster.local'],
    [{ trustDomain: 'a_b.example' }, 'spiffe://a_b.example/ns/shop/sa/cart'],
    [{ trustDomain: long, path: '' }, `spiffe://${long}`],
    [{ path: `/${'y'.repeat(2025)}` }, `spiffe://cluster.local/${'y'.repeat(2025)}`],
  ];
  for (const [spiffeID, expected] of good) {
    const profiles = [{ name: 'p', source: 'spire', selector: { matchLabels: {} }, spiffeID }];
    const { plan } = judge(
      meshWith({ signet: { identity: { profiles } } }),
      pod({ team: 'red', 'app.kubernetes.io/name': 'web' }),
    );
    t.match(plan?.spiffeId, { id: expected });
  }
  const bad: readonly (readonly [JsonObject, JsonObject, RegExp])[] = [
    [{ trustDomain: '{{ label "team" }}' }, { team: '' }, /the trust domain is empty/],
    [{ trustDomain: '{{ label "team" }}' }, { team: 'x'.repeat(256) }, /longer than 255 bytes/],
    [{ trustDomain: '{{ label "team" }}' }, { team: 'A' }, /lower-case/],
    [{ path: '/{{ label "team" }}' }, { team: '' }, /segment of the path is empty/],
    [{ path: '/{{ label "team" }}' }, { team: '.' }, /"\." or "\.\."/],
    [{ path: '/{{ label "team" }}' }, { team: '..' }, /"\." or "\.\."/],
    [{ path: '/{{ label "team" }}' }, { team: 'a b' }, /letters, digits/],
    [{ path: '/{{ label "team" }}' }, {}, /has no label team/],
    [{ path: `/${'y'.repeat(2026)}` }, {}, /longer than 2048 bytes/],
  ];
  for (const [spiffeID, labels, expected] of bad) {
    const profiles = [{ name: 'p', source: 'spire', selector: { matchLabels: {} }, spiffeID }];
    const verdict = judge(meshWith({ signet: { identity: { profiles } } }), pod(labels));
    t.equal(verdict.reason, 'spiffe_id_invalid');
    t.match(verdict.message, expected);
    t.ok(verdict.message.includes('spiffe://'), 'the template is named');
  }
  for (const path of ['/{{ .Zone }}', '/{{ label team }}', '/{{', '/{{ .Namespace | upper }}', 'ns']) {
    const profiles = [{ name: 'p', source: 'spire', spiffeID: { path } }];
    const result = load([{ tree: { signet: { identity: { profiles } } }, place: () => ({ from: 'default' }) }]);
    t.ok('mistakes' in result, `${path} is a mistake in the values`);
  }
});

const sources = fc.constantFrom('token', 'spire', 'podCertificate');
const anyIdentity = fc.record({
  source: sources,
  volume: fc.constantFrom('hostPath', 'csi'),
  layout: fc.constantFrom('linkerd', 'istio', 'kuma'),
  sidecar: fc.boolean(),
  alone: fc.boolean(),
  socket: fc.boolean(),
  cni: fc.boolean(),
  native: fc.boolean(),
  roots: fc.constantFrom('configMap', 'clusterTrustBundle', 'inline'),
  moved: fc.boolean(),
});
type AnyIdentity = typeof anyIdentity extends fc.Arbitrary<infer T> ? T : never;

function meshFor(one: AnyIdentity): Mesh {
  return meshWith({
    cniEnabled: one.cni,
    identityTrustAnchorsPEM: 'PEM',
    proxy: { nativeSidecar: one.native },
    signet: {
      identity: { source: one.source, podCertificate: { signerName: 'example.com/workloads' } },
      spire: { enabled: one.socket, volume: one.volume },
      sidecar: {
        layout: one.layout,
        ...(one.sidecar ? { image: 'registry.example/envoy:1' } : {}),
        ...(one.moved
          ? {
              paths: { keys: '/p/k', token: '/p/t', trustRoots: '/p/r', socket: '/p/s', credentials: '/p/c' },
              volumes: [{ name: 'own', emptyDir: {} }],
              volumeMounts: [{ name: 'own', mountPath: '/p/own' }],
            }
          : {}),
      },
      trustRoots: { source: one.roots, clusterTrustBundle: { name: 'roots' } },
    },
  });
}

/** The Pod template of any workload, asking for identity alone or not. */
function asking(object: JsonObject, alone: boolean): JsonObject {
  const walk = (value: Json, key: string): Json => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const entries = Object.entries(value).map(([name, child]) => [name, walk(child, name)] as const);
    const result = Object.fromEntries(entries);
    const isTemplate = key === 'template' || (key === '' && textAt(object, 'kind') === 'Pod');
    if (!isTemplate || !alone || at(result, 'spec') === undefined) return result;
    const metadata = objectAt(result, 'metadata');
    const annotations = { ...objectAt(metadata, 'annotations'), 'signet.dev/inject': 'identity' };
    return { ...result, metadata: { ...metadata, annotations } };
  };
  const result = walk(object, '');
  return typeof result === 'object' && result !== null && !Array.isArray(result) ? (result as JsonObject) : object;
}

t.test('whatever the identity, the Pod is sound, comes out once, and can be undone', async (t) => {
  let injectedPods = 0;
  fc.assert(
    fc.property(workload, anyIdentity, (plain, one) => {
      const object = asking(plain, one.alone);
      const mesh = meshFor(one);
      const verdict = judge(mesh, object);
      if (verdict.outcome === 'inject') injectedPods++;
      const result = patched(object, verdict);
      const faults = templatesIn(result).flatMap(structuralFaults);
      if (faults.length > 0) throw new Error(faults.join('; '));
      const again = judge(mesh, result);
      if (again.additions.length > 0) throw new Error(`injecting twice adds something (${again.reason})`);
      const back = uninjected(result, uninject(result));
      if (canonical(back) !== canonical(object)) throw new Error(`not the input again:\n${JSON.stringify(back)}`);
    }),
    { numRuns: Number(process.env.SIGNET_RUNS ?? 300) },
  );
  t.ok(injectedPods > 20, 'many of them were injected');
});

/** Pod Security "restricted" in the words of the standard, for one container by itself. */
function breaksRestricted(container: Json): string[] {
  const context = objectAt(container, 'securityContext');
  const capabilities = objectAt(context, 'capabilities');
  const faults: string[] = [];
  if (at(context, 'privileged') === true) faults.push('privileged');
  if (at(context, 'allowPrivilegeEscalation') !== false) faults.push('escalation');
  if (!listAt(capabilities, 'drop').includes('ALL')) faults.push('drop');
  if (listAt(capabilities, 'add').some((one) => one !== 'NET_BIND_SERVICE')) faults.push('add');
  if (at(context, 'runAsNonRoot') !== true || at(context, 'runAsUser') === 0) faults.push('root');
  if (!['RuntimeDefault', 'Localhost'].includes(textAt(objectAt(context, 'seccompProfile'), 'type') ?? ''))
    faults.push('seccomp');
  return faults;
}

t.test('in CNI mode nothing that we add asks for more than Pod Security restricted', async (t) => {
  const allowed = ['configMap', 'csi', 'downwardAPI', 'emptyDir', 'projected', 'secret'];
  let seen = 0;
  fc.assert(
    fc.property(anyIdentity, (given) => {
      const one = { ...given, cni: true, volume: 'csi' as const };
      const object = pod({}, one.alone ? { 'signet.dev/inject': 'identity' } : {});
      const namespace = { ...shop, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } };
      const verdict = judge(meshFor(one), object, namespace);
      if (verdict.outcome !== 'inject') return;
      seen++;
      const spec = objectAt(patched(object, verdict), 'spec');
      const ours = [...listAt(spec, 'initContainers'), ...listAt(spec, 'containers')].filter(
        (container) => at(container, 'name') !== 'web',
      );
      const faults = ours.flatMap(breaksRestricted);
      const types = listAt(spec, 'volumes').flatMap((volume) =>
        Object.keys(volume ?? {}).filter((key) => key !== 'name' && !allowed.includes(key)),
      );
      if (faults.length + types.length > 0) throw new Error([...faults, ...types].join(', '));
      if (verdict.warnings.length > 0) throw new Error(`warned for nothing: ${verdict.warnings.join()}`);
    }),
    { numRuns: 500 },
  );
  t.ok(seen > 100, 'many of them were injected');
});

t.test('what the API server lacks is refused with the reason; what we may not see is warned of', async (t) => {
  const tree = {
    signet: {
      identity: { source: 'podCertificate', podCertificate: { signerName: 'example.com/workloads' } },
      sidecar: { image: 'registry.example/envoy:1' },
    },
  };
  const off = judge(meshWith(tree, { podCertificate: 'off', clusterTrustBundle: 'on' }), pod({}));
  t.equal(off.reason, 'api_server_lacks_feature');
  t.match(off.message, /PodCertificateRequest/);
  const unseen = judge(meshWith(tree, { podCertificate: 'unknown' }), pod({}));
  t.equal(unseen.outcome, 'inject');
  t.match(unseen.warnings.join(), /could not see in \/metrics/);
  t.same(judge(meshWith(tree, { podCertificate: 'on' }), pod({})).warnings, []);
  const bundles = { ...tree.signet, trustRoots: { source: 'clusterTrustBundle', clusterTrustBundle: { name: 'r' } } };
  const noBundles = judge(meshWith({ signet: bundles }, { podCertificate: 'on', clusterTrustBundle: 'off' }), pod({}));
  t.match(noBundles.message, /ClusterTrustBundleProjection/);
  const unused = { ...bundles, identity: { source: 'spire' } };
  const spared = judge(meshWith({ signet: unused }, { clusterTrustBundle: 'off' }), pod({}));
  t.equal(spared.outcome, 'inject', 'what the Pod does not use is not asked for');
});

t.test('Pod Security is judged as the standards have it, and what helps is named', async (t) => {
  const good = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    runAsUser: 1,
    seccompProfile: { type: 'RuntimeDefault' },
  };
  const rows: readonly (readonly [JsonObject, string, 'baseline' | 'restricted'])[] = [
    [{ securityContext: { ...good, privileged: true } }, 'privileged', 'baseline'],
    [
      { securityContext: { ...good, capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } } },
      'beyond the baseline',
      'baseline',
    ],
    [{ securityContext: { ...good, seccompProfile: { type: 'Unconfined' } } }, 'Unconfined', 'baseline'],
    [{ securityContext: { ...good, appArmorProfile: { type: 'Unconfined' } } }, 'AppArmor', 'baseline'],
    [{ securityContext: { ...good, procMount: 'Unmasked' } }, 'procMount', 'baseline'],
    [{ securityContext: { ...good, seLinuxOptions: { type: 'spc_t' } } }, 'SELinux', 'baseline'],
    [{ securityContext: { ...good, seLinuxOptions: { user: 'x' } } }, 'SELinux', 'baseline'],
    [{ securityContext: { ...good, windowsOptions: { hostProcess: true } } }, 'Windows', 'baseline'],
    [{ securityContext: good, ports: [{ containerPort: 1, hostPort: 1 }] }, 'port of the node', 'baseline'],
    [{ securityContext: good, livenessProbe: { httpGet: { host: 'x', port: 1 } } }, 'names a host', 'baseline'],
    [
      { securityContext: good, lifecycle: { preStop: { tcpSocket: { host: 'x', port: 1 } } } },
      'names a host',
      'baseline',
    ],
    [{ securityContext: { ...good, allowPrivilegeEscalation: true } }, 'allowPrivilegeEscalation', 'restricted'],
    [{ securityContext: { ...good, capabilities: { drop: [] } } }, 'drop ALL', 'restricted'],
    [
      { securityContext: { ...good, capabilities: { drop: ['ALL'], add: ['CHOWN'] } } },
      'NET_BIND_SERVICE',
      'restricted',
    ],
    [{ securityContext: { ...good, runAsNonRoot: false } }, 'runAsNonRoot', 'restricted'],
    [{ securityContext: { ...good, runAsUser: 0 } }, 'user 0', 'restricted'],
    [{ securityContext: { ...good, seccompProfile: null } }, 'no seccomp profile', 'restricted'],
  ];
  const found = (sidecar: JsonObject, level: 'baseline' | 'restricted') => {
    const values = { cniEnabled: true, signet: { sidecar: { image: 'x:1', ...sidecar } } };
    const { plan } = judge(meshWith(values), pod({}));
    return plan === undefined ? [] : violations(plan.parts, level);
  };
  t.same(found({ securityContext: good }, 'restricted'), [], 'nothing is found where nothing is');
  for (const [sidecar, breaks, level] of rows) {
    const all = found(sidecar, level);
    t.ok(
      all.some((one) => one.breaks.includes(breaks)),
      `${level}: ${breaks}`,
    );
    t.match(all[0]?.help, /^(the probes and lifecycle of )?signet\.sidecar/, 'the setting is named');
    if (level === 'restricted') t.same(found(sidecar, 'baseline'), [], `baseline has nothing against it: ${breaks}`);
  }
  const helpFor = (tree: JsonObject, annotations: JsonObject = {}) => {
    const { plan } = judge(meshWith({ cniEnabled: true, ...tree }), pod({}, annotations));
    return plan === undefined
      ? ''
      : violations(plan.parts, 'restricted')
          .map(({ help }) => help)
          .join();
  };
  t.match(helpFor({}, { 'config.linkerd.io/proxy-uid': '0' }), /^proxy\.uid, or the annotation/);
  t.match(helpFor({ proxy: { capabilities: { drop: [] } } }), /^proxy\.capabilities\.drop/);
  t.match(helpFor({ cniEnabled: false }), /^cniEnabled: true/);
  t.match(helpFor({ networkValidator: { securityContext: { runAsUser: 0 } } }), /^networkValidator\.securityContext/);
  const debug = { debugContainer: { enabled: true, securityContext: { capabilities: { drop: [] } } } };
  t.match(helpFor({ signet: debug }), /^signet\.debugContainer\.securityContext/);
  t.match(helpFor({ signet: { spire: { enabled: true } } }), /^signet\.spire\.volume: csi/, 'a hostPath');
});

t.test('a Pod that would wait for trust roots is told so, by their name', async (t) => {
  const review = {
    uid: '1',
    operation: 'CREATE',
    kind: 'Pod',
    resource: 'pods',
    subresource: '',
    namespace: 'shop',
    dryRun: false,
    object: pod({}),
  };
  const path = { namespaceAsked: false, lacksTrustRoots: true };
  const answer = (tree: JsonObject) => admit(meshWith(tree), review, shop, path).answer.rest;
  t.match(answer({}), /ConfigMap linkerd-identity-trust-roots is not in this namespace/);
  t.notMatch(answer({ identityTrustAnchorsPEM: 'PEM', signet: { trustRoots: { source: 'inline' } } }), /ConfigMap/);
});

t.test('an expired root of another trust domain is named, and does not stop the rest', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const hour = 3_600_000;
  const old = (await makeAuthority('old root', { from: Date.now() - 2 * hour, ms: hour })).cert;
  const fresh = (await makeAuthority('fresh root', { from: Date.now(), ms: hour })).cert;
  const file = join(folder, 'values.json');
  writeFileSync(
    file,
    JSON.stringify({ signet: { trustRoots: { bundles: { 'a.example': old, 'b.example': fresh } } } }),
  );
  const { code, err } = await signet(['values', '-f', file]);
  t.equal(code, 0);
  t.match(err, /a root of trust domain "a\.example" has expired: CN=old root/);
  t.notMatch(err, /b\.example/);
});

t.test('SPIRE is told the IDs and DNS names that proxies expect', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const spiffeID = { trustDomain: 'prod.example', path: '/{{ label "team" }}/{{ .Workload }}' };
  const profiles = [{ name: 'payments', source: 'spire', selector: { matchLabels: { app: 'pay' } }, spiffeID }];
  const file = join(folder, 'values.json');
  writeFileSync(file, JSON.stringify({ identityTrustDomain: 'mesh.example', signet: { identity: { profiles } } }));
  const { out } = await signet(['install', '--with', 'spire', '-f', file]);
  const ids = documentsIn(out).filter((one) => at(one, 'kind') === 'ClusterSPIFFEID');
  t.equal(ids.length, 2);
  t.match(pick(ids[0], '/spec'), {
    spiffeIDTemplate: 'spiffe://mesh.example/ns/{{ .PodMeta.Namespace }}/sa/{{ .PodSpec.ServiceAccountName }}',
    dnsNameTemplates: [
      '{{ .PodSpec.ServiceAccountName }}.{{ .PodMeta.Namespace }}.serviceaccount.identity.linkerd.mesh.example',
    ],
    podSelector: {
      matchLabels: { 'signet.dev/spire': 'enabled' },
      matchExpressions: [{ key: 'signet.dev/identity', operator: 'NotIn', values: ['payments'] }],
    },
  });
  t.match(pick(ids[1], '/spec'), {
    spiffeIDTemplate:
      'spiffe://prod.example/{{ index .PodMeta.Labels "team" }}/{{ index .PodMeta.Labels "signet.dev/workload" }}',
    podSelector: { matchLabels: { 'signet.dev/spire': 'enabled', 'signet.dev/identity': 'payments' } },
  });
});

function canonical(json: Json): string {
  return JSON.stringify(json, (_key, value: Json) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
