import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { difference } from '../../src/inject/difference.js';
import { at, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../../src/json.js';
import { makeAuthority, makeLeaf } from '../../src/server/certificates/make.js';
import { documentsIn, pick } from '../support.js';
import { cluster, deployment, eventually, hasContainer, namespace, pod, rootsIn, template } from './harness.js';

// What a real API server does with what we give it, and what it gives us.

const optIn = { 'linkerd.io/inject': 'enabled' };
const made = await cluster();
if (made !== undefined) {
  const world = made;
  await world.install();
  await world.serveReady();
  await world.apply(
    namespace('by-label', optIn),
    namespace('by-annotation', {}, optIn),
    namespace('plain'),
    namespace('restricted', { ...optIn, 'pod-security.kubernetes.io/enforce': 'restricted' }),
  );

  t.test('every built-in kind that makes Pods gets injected ones from its real controller, as predicted', async (t) => {
    const selector = { matchLabels: { app: 'kinds' } };
    const inside = template({ app: 'kinds' });
    const runsOnce = template({ app: 'kinds' }, {}, { restartPolicy: 'Never' });
    const meta = (name: string): JsonObject => ({ name, namespace: 'by-annotation' });
    // A DaemonSet makes Pods for nodes, and there is no kubelet that would register one.
    await world.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'made-by-hand' } });
    await world.kubectl('taint node made-by-hand node.kubernetes.io/not-ready:NoSchedule-');
    const kinds: readonly JsonObject[] = [
      deployment('a-deployment', 'by-annotation', 1),
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: meta('a-rs'),
        spec: { replicas: 1, selector, template: inside },
      },
      {
        apiVersion: 'v1',
        kind: 'ReplicationController',
        metadata: meta('an-rc'),
        spec: { replicas: 1, selector: { app: 'kinds' }, template: inside },
      },
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: meta('an-sts'),
        spec: { replicas: 1, serviceName: 'x', selector, template: inside },
      },
      { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: meta('a-ds'), spec: { selector, template: inside } },
      { apiVersion: 'batch/v1', kind: 'Job', metadata: meta('a-job'), spec: { template: runsOnce } },
      {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: meta('a-cronjob'),
        spec: { schedule: '* * * * *', jobTemplate: { spec: { template: runsOnce } } },
      },
      pod('a-pod', 'by-annotation', {}, {}),
    ];
    await world.apply(...kinds);
    // A CronJob runs at the full minute; a Job made from it runs now.
    await world.kubectl('create job from-cronjob -n by-annotation --from=cronjob/a-cronjob');
    const owners = ['a-deployment', 'a-rs', 'an-rc', 'an-sts', 'a-ds', 'a-job', 'from-cronjob', 'a-pod'];
    const podsOf = async (owner: string) =>
      (await world.pods('by-annotation')).filter(
        ({ metadata }) => textAt(metadata, 'name')?.startsWith(owner) === true,
      );
    for (const owner of owners) await eventually(async () => (await podsOf(owner)).length > 0, `no Pod of ${owner}`);
    const ns = await world.get('ns by-annotation');
    for (const owner of owners) {
      for (const stored of await podsOf(owner)) {
        t.ok(hasContainer(stored), `${owner} has the proxy`);
        await t.test(`${owner} is stored as \`signet inject\` predicts it`, async (t) => {
          const predicted = await predictionFor(stored, ns);
          t.equal(difference(stored, withoutOwn(predicted)), undefined, 'everything predicted is there as predicted');
          t.equal(
            difference(withoutDefaults(predicted), withoutDefaults(stored)),
            undefined,
            'nothing is there beside it',
          );
        });
      }
    }
  });

  /** What the command line makes of a Pod as it was before injection. */
  async function predictionFor(stored: JsonObject, ns: JsonObject): Promise<JsonObject> {
    const bare = await world.signet(['uninject', '-'], JSON.stringify(stored));
    const input = `${JSON.stringify(ns)}\n---\n${bare.out}`;
    const { out, err, code } = await world.signet(['inject', '-o', 'json', '-'], input);
    if (code !== 0) throw new Error(err);
    const found = documentsIn(out)
      .flatMap((one) => (isObject(one) && Array.isArray(one.items) ? listAt(one, 'items') : [one]))
      .find((one) => at(one, 'kind') === 'Pod');
    return isObject(found) ? found : {};
  }

  t.test('signet runs with the shipped rights of its own ServiceAccount, and no more', async (t) => {
    const { out } = await world.kubectl('auth can-i --list --as=system:serviceaccount:signet:signet -n by-label');
    t.notMatch(out, /\*\.\*/, 'it is no administrator');
    const may = async (what: string) =>
      (await world.kubectl(`auth can-i ${what} --as=system:serviceaccount:signet:signet`)).out.trim();
    t.equal(await may('list namespaces'), 'yes');
    t.equal(await may('get secrets -n kube-system'), 'no');
    t.equal(await may('get secrets -n by-label'), 'no');
    t.equal(await may('list pods'), 'no');
    t.equal(await may('delete configmaps'), 'no');
    t.equal(await may('update configmaps/something -n by-label'), 'no');
    for (const verb of ['get', 'create', 'update', 'patch', 'delete']) t.equal(await may(`${verb} pods`), 'no');
    t.equal(await may('patch mutatingwebhookconfigurations/signet'), 'yes');
    t.equal(await may('patch mutatingwebhookconfigurations/another'), 'no');
    t.equal(await may('delete mutatingwebhookconfigurations/signet'), 'no');
    t.notMatch(world.replicas[0]?.log() ?? '', /forbidden/i, 'and it needs none that it lacks');
  });

  t.test('opting in and out, row by row, and which entry was called', async (t) => {
    const words = [undefined, 'enabled', 'ingress', 'disabled'] as const;
    const asks = (word: string | undefined) => word === 'enabled' || word === 'ingress';
    const rows: JsonObject[] = [];
    const expectations = new Map<string, { injected: boolean; entry: string }>();
    const values = (word: string | undefined): JsonObject => (word === undefined ? {} : { 'linkerd.io/inject': word });
    for (const [n, nsLabel] of words.entries())
      for (const [m, nsAnnotation] of words.entries()) {
        const name = `row-${n}${m}`;
        rows.push(namespace(name, values(nsLabel), values(nsAnnotation)));
        for (const [i, podLabel] of words.entries())
          for (const [j, podAnnotation] of words.entries())
            for (const alone of ['', 'labels', 'annotations'] as const) {
              const id = `p-${i}${j}${alone === '' ? '' : `-${alone}-alone`}`;
              const own = { 'signet.dev/inject': 'identity' };
              const saying = (map: string, rest: JsonObject) => (alone === map ? { ...rest, ...own } : rest);
              rows.push(
                pod(id, name, saying('labels', values(podLabel)), saying('annotations', values(podAnnotation))),
              );
              const asked = nsLabel ?? nsAnnotation ?? '';
              const isOut = podLabel === 'disabled' || podAnnotation === 'disabled';
              const podAsks = !isOut && (alone !== '' || asks(podLabel ?? podAnnotation));
              const injected = !isOut && (asks(asked) || podAsks);
              const entry = asks(nsLabel) ? (isOut ? 'none' : 'namespace') : podAsks ? 'pod' : 'rest';
              expectations.set(`${name}/${id}`, { injected, entry });
            }
      }
    await world.apply(...rows.filter(({ kind }) => kind === 'Namespace'));
    await eventually(async () => {
      const account = await world.kubectl('get sa default -n row-33');
      return account.code === 0;
    }, 'the ServiceAccounts are not there');
    await world.apply(...rows.filter(({ kind }) => kind === 'Pod'));
    const log = world.replicas[0]?.log() ?? '';
    const lines = log
      .split('\n')
      .flatMap((line) => (line.includes('"admission"') ? [JSON.parse(line) as JsonObject] : []));
    for (const [where, { injected, entry }] of expectations) {
      const [ns = '', id = ''] = where.split('/');
      const found = (await podsIn(ns)).find(({ metadata }) => textAt(metadata, 'name') === id) ?? {};
      const isAlone = id.endsWith('-alone');
      const shows = isAlone
        ? listAt(objectAt(found, 'spec'), 'volumes').some((one) => at(one, 'name') === 'linkerd-identity-token')
        : hasContainer(found);
      if (shows !== injected) t.fail(`${where}: injected ${shows}, expected ${injected}`);
      if (isAlone && hasContainer(found)) t.fail(`${where}: a proxy although only identity was asked for`);
      const called = new Set(
        lines.filter((line) => line.namespace === ns && line.name === id).map((line) => String(line.entry)),
      );
      if ([...called].join() !== (entry === 'none' ? '' : entry))
        t.fail(`${where}: called by ${[...called].join() || 'none'}, expected ${entry}`);
    }
    t.equal(expectations.size, 4 ** 4 * 3);
  });

  t.test('what is never touched is never sent, and audit mode changes nothing', async (t) => {
    await world.apply(
      namespace('audited', {}, { ...optIn, 'signet.dev/mode': 'audit' }),
      namespace('switched-off', { ...optIn, 'config.linkerd.io/admission-webhooks': 'disabled' }),
      namespace('cert-manager', optIn),
    );
    const rows: readonly (readonly [string, JsonObject, boolean])[] = [
      ['audited', {}, true],
      ['switched-off', {}, false],
      ...['kube-system', 'kube-public', 'kube-node-lease', 'cert-manager', 'signet'].map(
        (name) => [name, optIn, false] as const,
      ),
      ['by-label', { 'linkerd.io/control-plane-component': 'x' }, false],
      ['by-annotation', { 'linkerd.io/cni-resource': 'true' }, false],
    ];
    for (const [where, labels, isSent] of rows) {
      const made = async () =>
        (await world.kubectl('apply -f -', JSON.stringify(pod('never', where, labels, {})))).code === 0;
      await eventually(made, `no Pod in ${where}`, 20_000);
      t.notOk(hasContainer(await world.get(`pod never -n ${where}`)), `${where} is left alone`);
      const line = new RegExp(`"namespace":"${where}","name":"never"`);
      t.equal(line.test(world.replicas[0]?.log() ?? ''), isSent, `${where}: ${isSent ? 'sent' : 'never sent'}`);
    }
    t.match(world.replicas[0]?.log() ?? '', /"namespace":"audited","name":"never".*"reason":"audit_mode"/);
  });

  t.test(
    'a Pod picks its identity, and the socket beside it, by annotation; a word that nobody knows is told',
    async (t) => {
      const asked = async (name: string, annotations: JsonObject) => {
        const { err } = await world.apply(pod(name, 'by-label', {}, annotations));
        return { err, stored: await world.get(`pod ${name} -n by-label`) };
      };
      const spire = await asked('by-spire', { 'signet.dev/identity': 'spire' });
      t.equal(pick(spire.stored, '/metadata/labels/signet.dev~1identity'), 'spire');
      t.ok(pick(spire.stored, '/spec/volumes/[spire-agent-socket]'));
      t.notOk(pick(spire.stored, '/spec/volumes/[linkerd-identity-token]'));
      const beside = await asked('beside', { 'kuma.io/spire-integration': 'enabled' });
      t.equal(pick(beside.stored, '/metadata/labels/signet.dev~1spire'), 'enabled');
      t.ok(pick(beside.stored, '/spec/volumes/[spire-agent-socket]'));
      t.ok(pick(beside.stored, '/spec/volumes/[linkerd-identity-token]'), 'beside the token');
      const unknown = await world.kubectl(
        'apply -f -',
        JSON.stringify(pod('unknown', 'by-label', {}, { 'signet.dev/identity': 'moon' })),
      );
      t.match(unknown.err, /expected one of token, spire, podCertificate, found "moon"/);
      const slip = await asked('slip', { 'linkerd.io/inject': 'yes' });
      t.match(slip.err, /Warning: signet: not injected: .*none of enabled, disabled, ingress: "yes"/);
    },
  );

  const cached = new Map<string, readonly JsonObject[]>();
  async function podsIn(ns: string): Promise<readonly JsonObject[]> {
    const known = cached.get(ns) ?? (await world.pods(ns));
    cached.set(ns, known);
    return known;
  }

  t.test('a dry run shows the injection; warnings reach the person who types', async (t) => {
    const dry = await world.kubectl(
      'apply --dry-run=server -o json -f -',
      JSON.stringify(deploymentPod('dry', 'by-label')),
    );
    t.ok(hasContainer(JSON.parse(dry.out)), 'the injected Pod is shown');
    const warned = await world.kubectl(
      'apply -f -',
      JSON.stringify(pod('warned', 'by-label', {}, { 'config.linkerd.io/proxy-cpu-limit': 'plenty' })),
    );
    t.match(warned.err, /Warning: signet: annotation config\.linkerd\.io\/proxy-cpu-limit on the Pod is ignored/);
  });

  function deploymentPod(name: string, where: string): JsonObject {
    return {
      ...pod(name, where, {}, {}),
      metadata: {
        name,
        namespace: where,
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'x', uid: '00000000-0000-4000-8000-000000000000' },
        ],
      },
    };
  }

  t.test('Events show in kubectl describe, and none of a dry run', async (t) => {
    await world.apply(deployment('told', 'by-label', 1));
    await eventually(async () => {
      const { out } = await world.kubectl('describe rs -n by-label -l app=told');
      return /Injected\s+.*signet\s+identity and proxy injected/.test(out);
    }, 'the Event does not show');
    t.pass('on the ReplicaSet');
    const { out } = await world.kubectl('get events -n by-label -o json');
    t.notMatch(out, /00000000-0000-4000-8000-000000000000/, 'the dry run, which came before, has left none');
  });

  t.test('what is installed stays as it was applied, and another field manager is no conflict', async (t) => {
    const manifests = await world.signet(['install', '--url', `https://127.0.0.1:${world.port}`]);
    const diff = () => world.kubectl('diff --server-side -f -', manifests.out);
    t.same(await diff(), { code: 0, out: '', err: '' }, 'after install, with our caBundle in it');
    const label = await world.kubectl('label mutatingwebhookconfiguration signet team=red --field-manager=somebody');
    t.equal(label.code, 0);
    const again = await world.kubectl('apply --server-side -f -', manifests.out);
    t.equal(again.code, 0, again.err);
    t.equal(pick(await world.get('mutatingwebhookconfiguration signet'), '/metadata/labels/team'), 'red');
    // An upgrade that drops an entry.
    const before = manifests.out.split('---\n');
    const without = before
      .map((text) => {
        const [document] = documentsIn(text);
        if (!isObject(document) || document.kind !== 'MutatingWebhookConfiguration') return text;
        return JSON.stringify({
          ...document,
          webhooks: listAt(document, 'webhooks').filter((one) => textAt(one, 'name') !== 'services.signet.dev'),
        });
      })
      .join('\n---\n');
    const dropped = await world.kubectl('apply --server-side -f -', without);
    t.equal(dropped.code, 0, dropped.err);
    t.same(await world.kubectl('diff --server-side -f -', without), { code: 0, out: '', err: '' }, 'after the upgrade');
    t.equal(listAt(await world.get('mutatingwebhookconfiguration signet'), 'webhooks').length, 3);
    const back = await world.kubectl('apply --server-side -f -', manifests.out);
    t.equal(back.code, 0, back.err);
    // The entry that came back has no caBundle until the next look.
    await eventually(
      async () => JSON.stringify(await world.get('mutatingwebhookconfiguration signet')).split('caBundle').length === 5,
      'the entry that came back is not trusted',
    );
    t.same(await diff(), { code: 0, out: '', err: '' }, 'and back');
  });

  t.test('the identity is real: the token passes review, and names the identity of the Pod', async (t) => {
    await world.apply(pod('real', 'by-label', {}, {}));
    const stored = await world.get('pod real -n by-label');
    const token = pick(stored, '/spec/volumes/[linkerd-identity-token]/projected/sources/0/serviceAccountToken');
    const account = textAt(objectAt(stored, 'spec'), 'serviceAccountName') ?? '';
    const { out, err } = await world.kubectl(
      `create token ${account} -n by-label --audience=${textAt(token, 'audience')} --duration=${at(token, 'expirationSeconds')}s`,
    );
    t.equal(err, '');
    const review = await world.kubectl(
      'create -o json -f -',
      JSON.stringify({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token: out.trim(), audiences: ['identity.l5d.io'] },
      }),
    );
    const status = objectAt(JSON.parse(review.out), 'status');
    t.equal(at(status, 'authenticated'), true);
    t.same(at(status, 'audiences'), ['identity.l5d.io']);
    const [, , ns = '', name = ''] = textAt(objectAt(status, 'user'), 'username')?.split(':') ?? [];
    const variables = listAt(pick(stored, '/spec/initContainers/[linkerd-proxy]'), 'env');
    const reference = (name: string) =>
      pick(
        variables.find((one) => at(one, 'name') === name),
        '/valueFrom/fieldRef/fieldPath',
      );
    const fields: JsonObject = {
      _pod_ns: pick(stored, `/${String(reference('_pod_ns')).replaceAll('.', '/')}`) ?? '',
      _pod_sa: pick(stored, `/${String(reference('_pod_sa')).replaceAll('.', '/')}`) ?? '',
    };
    const local = textAt(
      variables.find((one) => at(one, 'name') === 'LINKERD2_PROXY_IDENTITY_LOCAL_NAME'),
      'value',
    );
    const expanded = local?.replaceAll(/\$\((\w+)\)/g, (_all, key: string) => String(fields[key]));
    t.equal(expanded, `${name}.${ns}.serviceaccount.identity.linkerd.cluster.local`);
  });

  t.test('trust roots reach a namespace that opts in, follow their source, and leave what others made', async (t) => {
    const source = String(pick(await world.get('cm linkerd-identity-trust-roots -n linkerd'), '/data/ca-bundle.crt'));
    const copied = async (where: string) => {
      const { out } = await world.kubectl(`get cm linkerd-identity-trust-roots -n ${where} -o json --ignore-not-found`);
      return out === '' ? '' : String(pick(JSON.parse(out), '/data/ca-bundle.crt'));
    };
    await world.apply(namespace('late'), namespace('by-hand'), rootsIn('by-hand', 'mine'));
    await world.kubectl('annotate ns late by-hand linkerd.io/inject=enabled');
    await eventually(async () => (await copied('late')) === source, 'no copy in late', 15_000);
    await world.apply(pod('asks', 'plain', optIn, {}));
    await eventually(async () => (await copied('plain')) === source, 'no copy where a Pod asked by itself', 15_000);
    const next = (await makeAuthority('next', { from: Date.now(), ms: 86_400_000 })).cert;
    await world.apply(rootsIn('linkerd', source + next));
    for (const where of ['late', 'plain', 'by-label'])
      await eventually(async () => (await copied(where)).includes(next.trim()), `${where} does not follow`, 15_000);
    t.equal(await copied('by-hand'), 'mine');
  });

  t.test('fields that we do not know survive, and a second webhook leads to one clean reinvocation', async (t) => {
    const lifetime = { from: Date.now() - 60_000, ms: 3_600_000 };
    const authority = await makeAuthority('other', lifetime);
    const pair = await makeLeaf(authority, ['localhost'], ['127.0.0.1'], lifetime);
    const server = createServer({ key: pair.key, cert: pair.cert }, async (request, response) => {
      let text = '';
      for await (const piece of request) text += piece;
      const review: JsonObject = JSON.parse(text);
      const asked = objectAt(review, 'request');
      const object = objectAt(asked, 'object');
      const isDone = hasContainer(object, 'late-comer');
      const isOptIn = pick(object, '/metadata/annotations/test~1opt-in') !== undefined;
      const patch: Json[] = isDone
        ? []
        : [
            { op: 'add', path: '/spec/containers/-', value: { name: 'late-comer', image: 'x:1' } },
            ...(isOptIn ? [{ op: 'add', path: '/metadata/annotations/linkerd.io~1inject', value: 'enabled' }] : []),
          ];
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          apiVersion: 'admission.k8s.io/v1',
          kind: 'AdmissionReview',
          response: {
            uid: asked.uid ?? '',
            allowed: true,
            ...(patch.length > 0
              ? { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
              : {}),
          },
        }),
      );
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    await world.apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      // Webhooks are called in the order of these names: this one comes after ours.
      metadata: { name: 'zz-later' },
      webhooks: [
        {
          name: 'later.example.com',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Fail',
          clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(authority.cert).toString('base64') },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
          objectSelector: { matchLabels: { later: 'yes' } },
        },
      ],
    });
    await eventually(async () => {
      const dry = await world.kubectl(
        'create --dry-run=server -o json -f -',
        JSON.stringify(pod('d', 'by-label', { later: 'yes' }, {})),
      );
      return dry.code === 0 && hasContainer(JSON.parse(dry.out), 'late-comer');
    }, 'the second webhook is not called');
    await world.apply(
      pod('both', 'by-label', { later: 'yes' }, {}, { schedulingGates: [{ name: 'example.com/wait' }] }),
      pod('opted-later', 'plain', { later: 'yes' }, { 'test/opt-in': 'yes' }),
    );
    const both = await world.get('pod both -n by-label');
    const names = (one: Json) =>
      ['initContainers', 'containers'].flatMap((list) =>
        listAt(objectAt(one, 'spec'), list).map((container) => textAt(container, 'name') ?? ''),
      );
    t.same(names(both).sort(), ['app', 'late-comer', 'linkerd-init', 'linkerd-proxy'], 'nothing twice');
    t.same(pick(both, '/spec/schedulingGates'), [{ name: 'example.com/wait' }], 'what is newer than we are stays');
    const volumes = listAt(objectAt(both, 'spec'), 'volumes').map((one) => textAt(one, 'name'));
    t.equal(new Set(volumes).size, volumes.length);
    const calls = (name: string) =>
      (world.replicas[0]?.log() ?? '')
        .split('\n')
        .flatMap((line) =>
          line.includes('"admission"') && line.includes(`"name":"${name}"`) ? [JSON.parse(line) as JsonObject] : [],
        )
        .map(({ entry, reason }) => `${entry} ${reason}`);
    t.same(calls('both'), ['namespace injected', 'namespace already_injected'], 'one reinvocation, and it is clean');
    t.same(
      calls('opted-later'),
      ['rest injection_enable_annotation_absent', 'rest injected'],
      'and one for a Pod that was opted in meanwhile',
    );
    const opted = await world.get('pod opted-later -n plain');
    t.same(names(opted).sort(), ['app', 'late-comer', 'linkerd-init', 'linkerd-proxy'], 'opted in by a later webhook');
    await world.kubectl('delete mutatingwebhookconfiguration zz-later');
  });

  t.test('Services are told their opaque ports; what cannot be injected is left alone with a reason', async (t) => {
    await world.apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'db', namespace: 'by-label' },
      spec: { ports: [{ port: 3306 }], selector: { app: 'db' } },
    });
    t.equal(
      pick(await world.get('svc db -n by-label'), '/metadata/annotations/config.linkerd.io~1opaque-ports'),
      '3306',
    );
    const cases: readonly (readonly [string, JsonObject, string])[] = [
      ['host', { hostNetwork: true }, 'host_network_enabled'],
      ['windows', { os: { name: 'windows' }, containers: [{ name: 'app', image: 'x:1' }] }, 'windows_pod'],
    ];
    for (const [name, spec, reason] of cases) {
      const { err } = await world.apply(pod(name, 'by-label', {}, {}, spec));
      const stored = await world.get(`pod ${name} -n by-label`);
      t.notOk(hasContainer(stored), `${name} has no proxy`);
      t.equal(pick(stored, '/metadata/annotations/signet.dev~1skipped'), reason);
      t.match(err, new RegExp(`Warning: signet: not injected: .*\\[${reason}\\]`));
    }
    await world.apply(pod('host-alone', 'by-label', {}, { 'signet.dev/inject': 'identity' }, { hostNetwork: true }));
    const alone = await world.get('pod host-alone -n by-label');
    t.ok(pick(alone, '/spec/volumes/[linkerd-identity-token]'), 'identity alone works in the network of the node');
    // A static Pod's mirror names its node, and may not refer to a ServiceAccount or volumes of the API.
    const mirror = pod(
      'mirror',
      'by-label',
      {},
      { 'kubernetes.io/config.mirror': 'x' },
      { nodeName: 'made-by-hand', automountServiceAccountToken: false },
    );
    await world.kubectl('apply -f -', JSON.stringify(mirror));
    const mirrored = await world.kubectl('get pod mirror -n by-label -o json');
    t.notOk(hasContainer(JSON.parse(mirrored.out)), 'a mirror Pod is left alone');
    t.match(world.replicas[0]?.log() ?? '', /"name":"mirror".*"reason":"mirror_pod"/, 'with its reason');
    const ephemeral = await world.kubectl('debug real -n by-label --image=busybox:1 --container=look --attach=false');
    t.equal(ephemeral.code, 0, ephemeral.err);
    const debugged = await world.get('pod real -n by-label');
    t.equal(
      listAt(objectAt(debugged, 'spec'), 'ephemeralContainers').length,
      1,
      'an ephemeral container is nobody’s business',
    );
  });

  t.test('a CronJob that came to its minute has made injected Pods as well', async (t) => {
    await eventually(
      async () =>
        (await world.pods('by-annotation')).some((one) => /^a-cronjob-/.test(nameOf(one)) && hasContainer(one)),
      'the CronJob controller has made nothing',
      90_000,
    );
    t.pass();
  });

  const nameOf = (one: JsonObject) => textAt(one.metadata, 'name') ?? '';

  t.test('under Pod Security restricted, in CNI mode, every source is accepted', async (t) => {
    const identities: readonly (readonly [string, readonly string[], string])[] = [
      ['token', ['cniEnabled=true'], 'linkerd-proxy'],
      ['spire', ['cniEnabled=true', 'signet.identity.source=spire', 'signet.spire.volume=csi'], 'linkerd-proxy'],
      [
        'certificate',
        [
          'cniEnabled=true',
          'signet.identity.source=podCertificate',
          'signet.identity.podCertificate.signerName=example.com/workloads',
          'signet.trustRoots.source=clusterTrustBundle',
          'signet.trustRoots.clusterTrustBundle.name=example.com:workloads:roots',
          'signet.sidecar.image=registry.example/envoy:1',
        ],
        'signet-sidecar',
      ],
    ];
    await world.apply({
      apiVersion: 'certificates.k8s.io/v1beta1',
      kind: 'ClusterTrustBundle',
      metadata: { name: 'example.com:workloads:roots' },
      spec: {
        signerName: 'example.com/workloads',
        trustBundle: (await makeAuthority('ctb', { from: Date.now(), ms: 86_400_000 })).cert,
      },
    });
    const refused = await world.kubectl('apply -f -', JSON.stringify(pod('with-init', 'restricted', {}, {})));
    t.match(refused.err, /violates PodSecurity "restricted.*linkerd-init/s, 'the init container is not');
    t.match(
      refused.err,
      /Warning: signet: the namespace enforces Pod Security "restricted".*cniEnabled: true/,
      'and we say so',
    );
    for (const [name, sets, container] of identities) {
      for (const { child } of world.replicas) child.kill('SIGKILL');
      const flags = sets.flatMap((set) => ['--set', set]);
      // The registration follows from the values as well: which container stands for the proxy.
      await world.install(...flags);
      await world.serveReady(world.port, ...flags);
      let said = '';
      const isAccepted = async () => {
        const { code, err } = await world.kubectl('apply -f -', JSON.stringify(pod(name, 'restricted', {}, {})));
        said = err;
        return code === 0;
      };
      // The API server takes a moment to take over a changed policy.
      await eventually(isAccepted, `${name} is not accepted`, 20_000);
      t.equal(said, '', 'without a warning');
      const stored = await world.get(`pod ${name} -n restricted`);
      t.ok(hasContainer(stored, container), `${name} has ${container}`);
      if (name !== 'certificate') continue;
      t.match(pick(stored, '/spec/volumes/[linkerd-identity-credentials]/projected/sources'), [
        { podCertificate: { signerName: 'example.com/workloads', keyType: 'ECDSAP256' } },
        { clusterTrustBundle: { name: 'example.com:workloads:roots' } },
      ]);
    }
    await world.plane.restartApiServer(false);
    for (const { child } of world.replicas) child.kill('SIGKILL');
    await world.serveReady(world.port, ...(identities[2]?.[1] ?? []).flatMap((set) => ['--set', set]));
    const off = await world.kubectl('apply -f -', JSON.stringify(pod('gates-off', 'restricted', {}, {})));
    t.not(off.code, 0, 'with the gates off it is refused');
    t.match(
      off.err,
      /Pod certificates \(Kubernetes 1\.35 and later, feature gate PodCertificateRequest\).*api_server_lacks_feature/,
    );
    for (const { child } of world.replicas) child.kill('SIGKILL');
    const bundles = (identities[2]?.[1] ?? []).filter((set) => !set.includes('podCertificate'));
    await world.serveReady(world.port, ...bundles.flatMap((set) => ['--set', set]));
    const without = await world.kubectl('apply -f -', JSON.stringify(pod('no-bundles', 'restricted', {}, {})));
    t.match(without.err, /ClusterTrustBundle volumes \(feature gates .*api_server_lacks_feature/, 'and so are bundles');
  });
}

/** Everything that the API server fills in by itself, as a list: all else must be as predicted. */
const serverDefaults: readonly RegExp[] = [
  /^\/(status|apiVersion|kind)$/,
  /^\/metadata\/(creationTimestamp|generation|managedFields|resourceVersion|uid|name|generateName|ownerReferences|namespace|finalizers)$/,
  /^\/metadata\/annotations\/kubectl\.kubernetes\.io~1last-applied-configuration$/,
  // The record that uninject goes by lists what was created; a stored Pod had empty lists in other places.
  /^\/metadata\/annotations\/signet\.dev~1status$/,
  /^\/spec\/(dnsPolicy|enableServiceLinks|preemptionPolicy|priority|restartPolicy|schedulerName|serviceAccount|serviceAccountName|terminationGracePeriodSeconds|tolerations|affinity|nodeName|hostname|subdomain|securityContext)$/,
  /^\/spec\/(containers|initContainers)\/\d+\/(terminationMessagePath|terminationMessagePolicy|imagePullPolicy|resources)$/,
  /\/(failureThreshold|periodSeconds|successThreshold|timeoutSeconds|initialDelaySeconds|scheme)$/,
  /\/(protocol|apiVersion|defaultMode|subresources|capabilities)$/,
  // The ServiceAccount plugin mounts the default token into every container, ours included.
  /^\/spec\/(containers|initContainers)\/\d+\/volumeMounts\/\d+$/,
];

/** A prediction without what belongs to the one Pod, and the record, whose lists of what was made begin from another Pod. */
function withoutOwn(pod: JsonObject): JsonObject {
  const { status: _status, ...rest } = pod;
  const metadata = objectAt(pod, 'metadata');
  const { 'signet.dev/status': _record, ...annotations } = objectAt(metadata, 'annotations');
  return { ...rest, metadata: { ...metadata, annotations } };
}

/** A Pod without what the API server fills in; mounts of the default token are told by their place. */
function withoutDefaults(json: Json, path = ''): Json {
  if (Array.isArray(json))
    return json
      .filter(
        (item) =>
          !(path.endsWith('/volumeMounts') && String(at(item, 'mountPath')).includes('kubernetes.io/serviceaccount')),
      )
      .map((item, index) => withoutDefaults(item, `${path}/${index}`));
  if (!isObject(json)) return json;
  return Object.fromEntries(
    Object.entries(json)
      .map(([key, value]) => [key, value, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`] as const)
      .filter(([, , place]) => !serverDefaults.some((one) => one.test(place)))
      .map(([key, value, place]) => [key, withoutDefaults(value, place)]),
  );
}
