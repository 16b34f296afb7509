import t, { type Test } from 'tap';
import { FakeApi } from '../scripts/fake-api.js';
import { Api } from '../src/cluster/api.js';
import { Context } from '../src/commands/doctor/context.js';
import { checks } from '../src/commands/doctor.js';
import { webhookConfiguration } from '../src/install/registration.js';
import { isObject, type JsonObject, listAt } from '../src/json.js';
import { makeAuthority, makeLeaf } from '../src/server/certificates/make.js';
import { defaultsForInstall } from './support.js';

// What doctor says of an installation inside of a cluster; outside of one it is tried in test/cluster/commands.test.ts.

const hour = 3_600_000;
const options = {
  namespace: 'signet',
  image: 'i',
  replicas: 2,
  values: '',
  url: '',
  ...defaultsForInstall,
};

async function installed(t: Test, { validMs = 30 * 24 * hour, ageMs = 0 } = {}) {
  const server = new FakeApi();
  await server.start();
  t.teardown(() => server.stop());
  const authority = await makeAuthority('doctor', { from: Date.now() - ageMs, ms: 365 * 24 * hour });
  const leaf = await makeLeaf(authority, ['signet.signet.svc'], [], { from: Date.now() - ageMs, ms: validMs });
  const configuration = webhookConfiguration(options);
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
  return { server, run };
}

function deployed(server: FakeApi, ready: number, nodes: readonly string[]): void {
  const deployment: JsonObject = { spec: { replicas: 2 }, status: { readyReplicas: ready } };
  server.put('/apis/apps/v1/namespaces/signet/deployments/signet', deployment);
  for (const [index, nodeName] of nodes.entries())
    server.put(`/api/v1/namespaces/signet/pods/p${index}`, { metadata: { name: `p${index}` }, spec: { nodeName } });
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
  deployed(server, 2, ['a', 'b']);
  t.equal(await run(check), 'ok: 2 ready');
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
