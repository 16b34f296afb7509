import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { at, isObject, type Json, type JsonObject, objectAt, textAt } from '../../src/json.js';
import { cluster, deployment, eventually, namespace, pod, rootsIn } from './harness.js';

// The verbs that look at a cluster: doctor, audit, explain.

const optIn = { 'linkerd.io/inject': 'enabled' };
const made = await cluster();
if (made !== undefined) {
  const world = made;
  const asAdmin = ['--kubeconfig', world.plane.kubeconfig];
  const doctor = async (): Promise<readonly Json[]> => {
    const { out, err } = await world.signet(['doctor', ...asAdmin, '-o', 'json']);
    const results: Json = out === '' ? [] : JSON.parse(out);
    if (!Array.isArray(results)) throw new Error(err);
    return results;
  };
  const statusOf = (results: readonly Json[], check: string) => {
    const found = results.find((one) => textAt(one, 'check') === check);
    return `${textAt(found, 'status')}: ${textAt(found, 'detail')}`;
  };

  await world.apply(namespace('missed'), namespace('shop', optIn));
  // Without a kubelet no new Pod becomes ready, so a rolling update would never end.
  const recreated = (name: string, replicas: number): JsonObject => {
    const one = deployment(name, 'shop', replicas);
    return { ...one, spec: { ...objectAt(one, 'spec'), strategy: { type: 'Recreate' } } };
  };
  await world.apply(recreated('before', 2));
  await eventually(async () => (await world.pods('shop')).length === 2, 'no Pods');

  t.test('doctor says what is missing where nothing is installed', async (t) => {
    const { code, out } = await world.signet(['doctor', ...asAdmin]);
    t.equal(code, 1);
    t.match(out, /^kubernetes-api\n-+\n√ the API server answers: v1\.36/);
    t.match(out, /× the webhook configuration is there: there is no MutatingWebhookConfiguration signet/);
    t.match(out, /install signet: `signet install … \| kubectl apply/);
    t.match(out, /- its values are valid: signet is not installed/);
    t.match(out, /, 1 failed, 0 warnings, \d+ skipped\)/, 'one thing is wrong, and one thing is said');
    t.match(out, /README: #install/);
    t.match(out, /Status is ×/);
    const nowhere = await world.signet(['doctor', '--kubeconfig', '/nowhere']);
    t.equal(nowhere.code, 2);
    t.match(nowhere.err, /cannot find the cluster/);
  });

  const kubelet = (version: string) =>
    world.plane.kubectl([
      ...['patch', 'node', 'made-by-hand', '--subresource=status', '--type=merge', '-p'],
      JSON.stringify({ status: { nodeInfo: { kubeletVersion: version } } }),
    ]);
  t.test('signet is installed from its manifests', async (t) => {
    await world.install();
    await world.serveReady();
    await world.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'made-by-hand' } });
    await kubelet('v1.36.3');
    t.pass();
  });

  t.test('doctor finds nothing wrong with an installation from the manifests', async (t) => {
    await eventually(
      async () => statusOf(await doctor(), 'every namespace that opted in has them').startsWith('ok'),
      'the trust roots do not come',
    );
    const results = await doctor();
    t.same(
      results.filter((one) => at(one, 'status') === 'failed'),
      [],
      'nothing failed',
    );
    const warnings = results.filter((one) => at(one, 'status') === 'warning').map((one) => textAt(one, 'check'));
    t.same(warnings, ['its replicas are ready, and on different nodes'], 'only that it runs outside of the cluster');
    t.match(statusOf(results, 'caBundle verifies what the endpoint serves'), /^ok: \d+ days left/);
    t.match(statusOf(results, 'its ServiceAccount may do what it must'), /^ok: \d+ rights/);
    t.match(statusOf(results, 'every node can run native sidecars'), /oldest kubelet v1\.36\.3/);
    t.match(statusOf(results, 'a Pod on a dry run comes back injected'), /ok: in namespace shop/);
    t.equal((await world.signet(['doctor', ...asAdmin])).code, 0);
  });

  t.test('doctor finds each thing that can be broken', async (t) => {
    const breaks: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>, RegExp])[] = [
      [
        'its entries are as this version makes them',
        () =>
          edit('mutatingwebhookconfiguration signet', [
            { op: 'replace', path: '/webhooks/0/failurePolicy', value: 'Ignore' },
          ]),
        () => world.reinstall(),
        /^failed: entry namespace\.signet\.dev differs at \/failurePolicy/,
      ],
      [
        'its entries are as this version makes them',
        () =>
          edit('mutatingwebhookconfiguration signet', [
            { op: 'add', path: '/webhooks/1/matchConditions/-', value: { name: 'never', expression: 'false' } },
          ]),
        () => edit('mutatingwebhookconfiguration signet', [{ op: 'remove', path: '/webhooks/1/matchConditions/1' }]),
        /^failed: entry pod\.signet\.dev has something of its own at \/matchConditions/,
      ],
      [
        'the guard is there, and refuses',
        () =>
          edit('validatingadmissionpolicybinding signet-guard', [
            { op: 'replace', path: '/spec/validationActions', value: ['Audit'] },
          ]),
        () =>
          edit('validatingadmissionpolicybinding signet-guard', [
            { op: 'replace', path: '/spec/validationActions', value: ['Deny'] },
          ]),
        /^failed: it differs at \/spec\/validationActions/,
      ],
      [
        'the guard is there, and refuses',
        () =>
          edit('validatingadmissionpolicy signet-guard', [
            { op: 'add', path: '/spec/matchConditions', value: [{ name: 'never', expression: 'false' }] },
          ]),
        () => edit('validatingadmissionpolicy signet-guard', [{ op: 'remove', path: '/spec/matchConditions' }]),
        /^failed: the policy has something of its own at \/spec\/matchConditions/,
      ],
      [
        'its entries are as this version makes them',
        () => edit('mutatingwebhookconfiguration signet', [{ op: 'remove', path: '/webhooks/3' }]),
        async () => {
          await world.reinstall();
          const check = 'caBundle verifies what the endpoint serves';
          await eventually(async () => statusOf(await doctor(), check).startsWith('ok'), 'no caBundle', 90_000);
        },
        /^failed: entry services\.signet\.dev is missing/,
      ],
      [
        'every namespace that opted in has them',
        () =>
          edit('cm linkerd-identity-trust-roots -n shop', [
            { op: 'remove', path: '/metadata/labels/signet.dev~1copy' },
            { op: 'replace', path: '/data/ca-bundle.crt', value: 'garbage' },
          ]),
        async () => {
          await world.kubectl('delete cm linkerd-identity-trust-roots -n shop');
          await eventually(
            async () => (await world.kubectl('get cm linkerd-identity-trust-roots -n shop')).code === 0,
            'no copy',
          );
        },
        /^failed: ConfigMap linkerd-identity-trust-roots holds no valid certificate in shop/,
      ],
      [
        'no other injector is registered for the same Pods',
        () => world.apply(otherInjector({})),
        () => world.apply(otherInjector({ matchLabels: { 'signet.dev/never': 'x' } })),
        /^failed: linkerd-proxy-injector-webhook-config also sees the Pods of namespace shop/,
      ],
      [
        'its ServiceAccount may do what it must',
        () => edit('clusterrole signet', [{ op: 'remove', path: '/rules/0/verbs/0' }]),
        () => world.reinstall(),
        /^failed: it may not get namespaces/,
      ],
      [
        'its values are valid',
        () =>
          edit('cm signet-values -n signet', [
            { op: 'replace', path: '/data/values.yaml', value: 'proxy: {cores: many}\n' },
          ]),
        () => world.reinstall(),
        /^failed: ConfigMap signet\/signet-values:1:9: proxy\.cores: expected a whole number/,
      ],
      [
        'every node can run native sidecars',
        () => kubelet('v1.28.4'),
        () => kubelet('v1.36.3'),
        /^failed: the oldest kubelet is v1\.28\.4/,
      ],
      [
        'the trust roots are there and valid',
        () => world.kubectl('delete cm linkerd-identity-trust-roots -n linkerd'),
        () => world.apply(roots),
        /^failed: there is no ca-bundle\.crt in ConfigMap linkerd\/linkerd-identity-trust-roots/,
      ],
    ];
    const roots = await world.get('cm linkerd-identity-trust-roots -n linkerd');
    for (const field of ['resourceVersion', 'uid', 'creationTimestamp', 'managedFields'])
      if (isObject(roots.metadata)) Reflect.deleteProperty(roots.metadata, field);
    for (const [check, hurt, heal, expected] of breaks) {
      await hurt();
      t.match(statusOf(await doctor(), check), expected, check);
      await heal();
      t.match(statusOf(await doctor(), check), /^ok/, `${check}, mended`);
    }
    // The bundle is repaired while signet runs, so it must be away for this one.
    for (const { child } of world.replicas) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    const other = Buffer.from(textAt(objectAt(await world.get('cm kube-root-ca.crt -n shop'), 'data'), 'ca.crt') ?? '');
    const away = await doctor();
    t.match(statusOf(away, 'caBundle verifies what the endpoint serves'), /^failed: 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
    t.match(statusOf(away, 'a Pod on a dry run comes back injected'), /^failed: .*signet/);
    const fresh = await world.serve();
    await eventually(() => fresh.isReady(), 'not ready');
    const bundles = [0, 1, 2, 3].map((index) => ({
      op: 'replace',
      path: `/webhooks/${index}/clientConfig/caBundle`,
      value: other.toString('base64'),
    }));
    await edit('mutatingwebhookconfiguration signet', bundles);
    t.match(statusOf(await doctor(), 'caBundle verifies what the endpoint serves'), /^failed: .*(verify|self.signed)/);
    await world.reinstall();
    for (const { child } of world.replicas) child.kill('SIGKILL');
    await world.serveReady();
  });

  function edit(what: string, patch: readonly JsonObject[]): Promise<unknown> {
    return world.plane.kubectl(['patch', ...what.split(' '), '--type=json', '-p', JSON.stringify(patch)]);
  }

  function otherInjector(namespaceSelector: JsonObject): JsonObject {
    return {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'linkerd-proxy-injector-webhook-config' },
      webhooks: [
        {
          name: 'linkerd-proxy-injector.linkerd.io',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Ignore',
          clientConfig: { service: { name: 'linkerd-proxy-injector', namespace: 'linkerd', path: '/' } },
          namespaceSelector,
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods', 'services'] }],
        },
      ],
    };
  }

  t.test('audit lists what was missed and what is stale, with the command for its owner', async (t) => {
    await world.apply(recreated('fresh', 1), pod('bare', 'shop', {}, {}));
    await eventually(async () => (await world.pods('shop', 'app=fresh')).length === 1, 'no Pod');
    const audit = async (...flags: readonly string[]) => {
      const { code, out, err } = await world.signet(['audit', ...asAdmin, '-o', 'json', ...flags]);
      const rows: Json = JSON.parse(out || 'null');
      if (!Array.isArray(rows)) throw new Error(err);
      return { code, rows: rows.map((row) => `${at(row, 'owner')} ${at(row, 'finding')}`).sort(), all: rows };
    };
    const now = await audit();
    t.equal(now.code, 1);
    t.same(now.rows, ['deployment/before missing', 'deployment/before missing'], 'those from before, nobody else');
    t.equal(textAt(now.all[0], 'command'), 'kubectl rollout restart deployment/before -n shop');
    const text = await world.signet(['audit', ...asAdmin]);
    t.match(
      text.out,
      /shop\s+deployment\/before\s+2\s+missing\s+created before it opted in, or while the webhook was away/,
    );
    t.match(text.out, /kubectl rollout restart deployment\/before -n shop/);
    await world.kubectl('rollout restart deployment/before -n shop');
    await eventually(async () => (await audit()).code === 0, 'the command did not help');
    t.match((await world.signet(['audit', ...asAdmin])).out, /nothing to do/);
    const values = async (set: string) => (await audit('--set', set)).rows;
    const owners = ['deployment/before', 'deployment/before', 'deployment/fresh', 'pod/bare'];
    t.same(
      await values('linkerdVersion=edge-27.1.1'),
      owners.map((one) => `${one} stale_version`),
    );
    t.same(
      await values('proxy.logLevel=debug'),
      owners.map((one) => `${one} stale_values`),
    );
    t.same(
      await values('signet.identity.source=spire'),
      owners.map((one) => `${one} stale_source`),
    );
    t.same(await values('clusterDomain=cluster.local'), [], 'what changes nothing is not stale');
    t.same(
      await values('proxy.nativeSidecar=false'),
      owners.map((one) => `${one} stale_values`),
    );
    // The roots are a variable of the proxy, which it reads when it starts; times are told in seconds.
    await delay(1100);
    const roots = await world.get('cm linkerd-identity-trust-roots -n linkerd');
    const pem = textAt(objectAt(roots, 'data'), 'ca-bundle.crt') ?? '';
    await world.apply(rootsIn('linkerd', `# changed\n${pem}`));
    await eventually(async () => (await audit()).rows.length === 4, 'the changed roots are not noticed');
    t.same(
      (await audit()).rows,
      owners.map((one) => `${one} stale_trust_roots`),
    );
    await world.kubectl('rollout restart deployment/before deployment/fresh -n shop');
    await world.kubectl('delete pod bare -n shop');
    await eventually(async () => (await audit()).code === 0, 'the restart did not help');
    await world.apply(pod('bare', 'shop', {}, {}));
    const offline = await world.kubectl('get pods,ns -A -o json');
    const read = await world.signet(['audit', '--set', 'linkerdVersion=edge-27.1.1', '-'], offline.out);
    t.equal(read.code, 1, read.err);
    t.match(read.out, /deployment\/fresh\s+1\s+stale_version\s+edge-26\.6\.3, now edge-27\.1\.1/);
  });

  t.test('serve exports the same as a metric', async (t) => {
    await world.reinstall('--with', 'audit');
    for (const { child } of world.replicas) child.kill('SIGKILL');
    const replica = await world.serveReady(world.port, '--audit-interval', '1s', '--set', 'linkerdVersion=edge-27.1.1');
    await eventually(async () => {
      const response = await fetch(`http://127.0.0.1:${replica.adminPort}/metrics`);
      return (await response.text()).includes('signet_audit_findings{finding="stale_version"} 4');
    }, 'the metric does not come');
    t.pass('four stale Pods');
    for (const { child } of world.replicas) child.kill('SIGKILL');
    await world.serveReady();
  });

  t.test('explain takes objects of the cluster, and says whether the API server asks us at all', async (t) => {
    await world.apply(
      deployment('quiet', 'missed', 1),
      namespace('audited', {}, { ...optIn, 'signet.dev/mode': 'audit' }),
    );
    const explain = (...words: readonly string[]) => world.signet(['explain', ...asAdmin, ...words]);
    const quiet = await explain('deploy/quiet', '-n', 'missed');
    t.match(quiet.out, /injection_enable_annotation_absent/);
    t.match(quiet.out, /the API server asks signet about it now, by rest\.signet\.dev/);
    const [running] = await world.pods('shop', 'app=fresh');
    const name = textAt(running?.metadata, 'name') ?? '';
    const well = await explain(`pod/${name}`, '-n', 'shop');
    t.match(well.out, /it runs {3}as it would be if it were created now/);
    t.match(well.out, /asks signet about it now, by namespace\.signet\.dev/);
    t.match((await explain('svc/x')).err, /is no file, and no workload of a cluster/);
    const excluded = await explain('deploy/quiet', '-n', 'nowhere');
    t.equal(excluded.code, 2);
    t.match(excluded.err, /there is no deployment\/quiet in namespace nowhere/);
    await world.kubectl('create deployment sys --image=x -n kube-system');
    const never = await explain('deployment/sys', '-n', 'kube-system');
    t.match(never.out, /the API server never asks signet about it/);
    t.match(never.out, /rest\.signet\.dev: of the namespace, label kubernetes\.io\/metadata\.name is kube-system/);
    const out = pod('out', 'shop', { 'linkerd.io/inject': 'disabled' }, {});
    await world.apply(out);
    t.match((await explain('pod/out', '-n', 'shop')).out, /namespace\.signet\.dev: the Pod has opted out/);
    const json: Json = JSON.parse((await explain('pod/out', '-n', 'shop', '-o', 'json')).out);
    t.match(json, [
      { outcome: 'skip', apiServer: { calledBy: [], notCalledBy: [{ entry: 'namespace.signet.dev' }, {}, {}] } },
    ]);
    await world.kubectl('delete mutatingwebhookconfiguration signet');
    t.match((await explain('pod/out', '-n', 'shop')).out, /there is no webhook configuration signet/);
    await world.reinstall();
    t.match((await explain('pod/out', '-n', 'shop')).out, /before the webhook was registered/);
  });

  t.test('who may only read is told what could not be looked at, and no more', async (t) => {
    // The registration is a new one, which signet has yet to find.
    const check = 'caBundle verifies what the endpoint serves';
    await eventually(async () => statusOf(await doctor(), check).startsWith('ok'), 'no caBundle', 90_000);
    await world.kubectl('create serviceaccount reader -n missed');
    await world.kubectl('create clusterrole read-all --verb=get,list,watch --resource=*.*');
    await world.kubectl('create clusterrolebinding read-all --clusterrole=read-all --serviceaccount=missed:reader');
    const token = await world.kubectl('create token reader -n missed');
    const reader = world.plane.kubeconfigFor('reader', token.out.trim());
    const { code, out } = await world.signet(['doctor', '--kubeconfig', reader]);
    t.equal(code, 0, out);
    t.match(out, /‼ its ServiceAccount may do what it must: 403: .*\n {4}run signet doctor as somebody who may look/);
    t.match(out, /‼ a Pod on a dry run comes back injected: 403/);
    const none = await world.signet(['audit', ...asAdmin, '-n', 'nowhere']);
    t.equal(none.code, 2);
    t.match(none.err, /there is no namespace nowhere/);
  });

  t.test('a cluster that cannot be reached is said to be so', async (t) => {
    const kubeconfig = world.plane.kubeconfigFor('nobody', 'wrong');
    const forbidden = await world.signet(['doctor', '--kubeconfig', kubeconfig]);
    t.equal(forbidden.code, 1);
    t.match(forbidden.out, /× the API server answers: 401/);
  });
}
