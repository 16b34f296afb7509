import t, { type Test } from 'tap';
import { FakeApi } from '../scripts/fake-api.js';
import { Api } from '../src/cluster/api.js';
import { Context } from '../src/commands/doctor/context.js';
import { checks } from '../src/commands/doctor.js';
import { webhookConfiguration } from '../src/install/registration.js';
import { isObject, type JsonObject, listAt } from '../src/json.js';
import { makeAuthority, makeLeaf } from '../src/server/certificates/make.js';
import { plainInstall } from './support.js';

// What doctor says of an installation inside of a cluster; outside of one it is tried in test/cluster/commands.test.ts.

const hour = 3_600_000;
async function installed(t: Test, { validMs = 30 * 24 * hour, ageMs = 0 } = {}) {
  const server = new FakeApi();
  await server.start();
  t.teardown(() => server.stop());
  const authority = await makeAuthority('doctor', { from: Date.now() - ageMs, ms: 365 * 24 * hour });
  const leaf = await makeLeaf(authority, ['signet.signet.svc'], [], { from: Date.now() - ageMs, ms: validMs });
  const configuration = webhookConfiguration(plainInstall);
  const encode = (text: string) => Buffer.from(text).toString('base64');
  const webhooks = listAt(configuration, 'webhooks').map((entry) => {
    const own = isObject(entry) ? entry : {};
    const client = isObject(own.clientConfig) ? own.clientConfig : {};
    return { ...own, clientConfig: { ...client, caBundle: encode(authority.cert) } };
  });
  server.put('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/signet', {
    ...configuration,
    webhooks,
  });
  server.put('/api/v1/namespaces/signet/secrets/signet-tls', { data: { 'tls.crt': encode(leaf.cert) } });
  server.put('/api/v1/namespaces/signet/configmaps/signet-values', { data: { 'values.yaml': '{}\n' } });
  const run = async (check: string) => {
    const found = checks.find((one) => one.check === check);
    if (found === undefined) throw new Error(`there is no check ${check}`);
    const { status, detail } = await found.run(new Context(new Api(server.access), 'signet'));
    return `${status}: ${detail}`;
  };
  /** The hint of a check; what it reads before is read without the fault that waits. */
  const hintOf = async (check: string) => {
    const found = checks.find((one) => one.check === check);
    const context = new Context(new Api(server.access), 'signet');
    const [fault] = server.faults.splice(0);
    await context.options();
    await context.optedIn();
    if (fault !== undefined) server.faults.push(fault);
    return (await found?.run(context))?.hint;
  };
  return { server, run, hintOf };
}

function deployed(server: FakeApi, ready: number, nodes: readonly string[]): void {
  const deployment: JsonObject = { spec: { replicas: 2 }, status: { readyReplicas: ready } };
  server.put('/apis/apps/v1/namespaces/signet/deployments/signet', deployment);
  for (const [index, nodeName] of nodes.entries())
    server.put(`/api/v1/namespaces/signet/pods/p${index}`, {
      metadata: { name: `p${index}` },
      spec: { nodeName },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
}

t.test('replicas must be ready, and ought to be on different nodes', async (t) => {
  const check = 'its replicas are ready, and on different nodes';
  const { server, run } = await installed(t);
  deployed(server, 0, []);
  t.equal(await run(check), 'failed: none of 2 is ready');
  deployed(server, 1, ['a']);
  t.equal(await run(check), 'warning: 1 of 2 ready');
  deployed(server, 2, ['a', 'a']);
  t.equal(await run(check), 'warning: 2 ready, all on one node');
  server.put('/api/v1/namespaces/signet/pods/evicted', { metadata: { name: 'e' }, spec: { nodeName: 'c' } });
  t.equal(await run(check), 'warning: 2 ready, all on one node', 'one that has failed elsewhere does not count');
  deployed(server, 2, ['a', 'b']);
  t.equal(await run(check), 'ok: 2 ready');
});

t.test('versions, clocks, gates and kubelets are told apart', async (t) => {
  const { server, run } = await installed(t);
  server.put('/version', { gitVersion: 'v1.29.4' });
  t.match(await run('the API server answers'), /^failed: v1\.29\.4 has no matchConditions/);
  server.put('/version', { gitVersion: 'v1.30.0' });
  t.match(await run('the API server answers'), /^ok: v1\.30\.0/);
  const late = (seconds: number) => server.dates.push(new Date(Date.now() - seconds * 1000).toUTCString());
  late(600);
  t.match(await run('its clock agrees with this one'), /^failed: they are (599|600|601) s apart/);
  late(60);
  t.match(await run('its clock agrees with this one'), /^warning: they are \d+ s apart/);
  t.match(await run('its clock agrees with this one'), /^ok: [01] s apart/);
  const gates = 'the API server has what the values need';
  t.match(await run(gates), /^ok: /, 'where nothing needs them');
  const values = { data: { 'values.yaml': 'signet: {identity: {podCertificate: {signerName: example.com/x}}}\n' } };
  server.put('/api/v1/namespaces/signet/configmaps/signet-values', values);
  t.match(await run(gates), /^warning: cannot tell whether there are Pod certificates/);
  const enabled = (on: number) => `kubernetes_feature_enabled{name="PodCertificateRequest",stage="BETA"} ${on}\n`;
  server.metrics = enabled(0);
  t.match(await run(gates), /^failed: there are no Pod certificates/);
  server.metrics = enabled(1);
  t.match(await run(gates), /^ok: podCertificate on/);
});

t.test('trust roots are judged by what is in them, here and in every copy', async (t) => {
  const { server, run } = await installed(t);
  const day = 24 * hour;
  const root = async (name: string, days: number) =>
    (await makeAuthority(name, { from: Date.now() - 100 * day, ms: (100 + days) * day })).cert;
  const put = (namespace: string, pem: string, labels: JsonObject = {}) =>
    server.put(`/api/v1/namespaces/${namespace}/configmaps/linkerd-identity-trust-roots`, {
      metadata: { name: 'linkerd-identity-trust-roots', namespace, labels },
      data: { 'ca-bundle.crt': pem },
    });
  const [fresh, soon, gone] = [await root('fresh', 300), await root('soon', 30), await root('gone', -1)];
  const own = 'the trust roots are there and valid';
  t.match(await run(own), /^failed: there is no ca-bundle\.crt/);
  put('linkerd', fresh);
  t.match(await run(own), /^ok: the first expires in (299|300) days/);
  put('linkerd', soon);
  t.match(await run(own), /^warning: the first expires in (29|30) days/);
  put('linkerd', gone);
  t.match(await run(own), /^failed: expired: CN=gone/);
  put('linkerd', gone + fresh);
  t.match(await run(own), /^warning: expired, beside others that are valid: CN=gone/);
  put('linkerd', fresh);
  server.put('/api/v1/namespaces/shop', {
    metadata: { name: 'shop', labels: { 'linkerd.io/inject': 'enabled' } },
  });
  const copies = 'every namespace that opted in has them';
  t.match(await run(copies), /^failed: ConfigMap linkerd-identity-trust-roots is not in shop/);
  put('shop', 'garbage');
  t.match(await run(copies), /^failed: .* holds no valid certificate in shop/);
  put('shop', soon);
  t.match(await run(copies), /^warning: .* lacks roots of namespace linkerd in shop/);
  put('shop', fresh + soon);
  t.match(await run(copies), /^ok: 1 namespace/);
});

t.test('a Pod that is refused on a dry run has a cause that is named', async (t) => {
  const causes: readonly (readonly [string, RegExp])[] = [
    ['failed calling webhook "pod.signet.dev": context deadline exceeded', /a firewall or NetworkPolicy/],
    ['no endpoints available for service "signet"', /no replica is ready/],
    ['dial tcp 127.0.0.1:1: connect: connection refused', /is signet running/],
    ['x509: certificate signed by unknown authority', /see the check of caBundle/],
    ["ValidatingAdmissionPolicy 'signet-guard' denied request", /the guard has held the Pod back/],
    ['pods "x" is forbidden: violates PodSecurity "restricted"', /enforces a level/],
    ['pods "x" is forbidden: exceeded quota: small', /a quota or limit/],
  ];
  for (const [message, hint] of causes) {
    const { server, hintOf } = await installed(t);
    server.faults.push((response) => response.writeHead(500).end(JSON.stringify({ message })));
    t.match(await hintOf('a Pod on a dry run comes back injected'), hint, message);
  }
});

t.test('the certificate of a Service is looked up where it is kept', async (t) => {
  const check = 'caBundle verifies what the endpoint serves';
  const fresh = await installed(t);
  t.equal(await fresh.run(check), 'ok: 29 days left');
  const late = await installed(t, { ageMs: 29 * 24 * hour });
  t.match(await late.run(check), /^warning: (23|24) hours|^warning: \d+ minutes left/);
  const gone = await installed(t, { ageMs: 31 * 24 * hour });
  t.match(await gone.run(check), /^failed: it expired on /);
  const other = await makeAuthority('other', { from: Date.now(), ms: hour });
  const foreign = await makeLeaf(other, ['signet.signet.svc'], [], { from: Date.now(), ms: hour });
  fresh.server.put('/api/v1/namespaces/signet/secrets/signet-tls', {
    data: { 'tls.crt': Buffer.from(foreign.cert).toString('base64') },
  });
  t.match(
    await fresh.run(check),
    /^failed: the certificate in the Secret was not issued by what the API server trusts/,
  );
});

t.test('values that are laid over those of Linkerd are read as the webhook reads them', async (t) => {
  const { server, run } = await installed(t);
  server.put('/api/v1/namespaces/signet/configmaps/linkerd-config', {
    data: { values: 'linkerdVersion: edge-25.1.1\n' },
  });
  server.put('/apis/apps/v1/namespaces/signet/deployments/signet', {
    spec: {
      template: {
        spec: {
          containers: [
            {
              args: ['serve', '--values', '/var/run/linkerd/config/values', '--values', '/etc/signet/values.yaml'],
              volumeMounts: [
                { name: 'linkerd-config', mountPath: '/var/run/linkerd/config' },
                { name: 'values', mountPath: '/etc/signet' },
              ],
            },
          ],
          volumes: [
            { name: 'linkerd-config', configMap: { name: 'linkerd-config' } },
            { name: 'values', configMap: { name: 'signet-values' } },
          ],
        },
      },
    },
  });
  t.match(await run('its values are valid'), /^ok: .*proxy edge-25\.1\.1$/);
  server.put('/api/v1/namespaces/signet/configmaps/signet-values', { data: { 'values.yaml': 'proxy: [\n' } });
  t.match(await run('its values are valid'), /^failed: ConfigMap signet\/signet-values:\d+:\d+: /);
});
