import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import fc from 'fast-check';
import jsonpatch from 'fast-json-patch';
import type { FastifyInstance } from 'fastify';
import { generate } from 'selfsigned';
import t, { type Test } from 'tap';
import { until } from '../scripts/fake-api.js';
import type { Admission } from '../src/admission/admit.js';
import { base64Of, patchPieces } from '../src/admission/patch-text.js';
import { respond, written } from '../src/admission/respond.js';
import { bareNamespace, type Namespace } from '../src/inject/decide/opt-in.js';
import { inject } from '../src/inject/inject.js';
import { meshOf } from '../src/inject/mesh.js';
import { origins } from '../src/inject/origin.js';
import { patchOf } from '../src/inject/patch.js';
import type { Json, JsonObject } from '../src/json.js';
import { createAdmin } from '../src/server/admin.js';
import { createApp, type Wiring } from '../src/server/app.js';
import { fileCertificates } from '../src/server/certificates/files.js';
import { makeAuthority, makeLeaf } from '../src/server/certificates/make.js';
import { drain } from '../src/server/drain.js';
import { Metrics } from '../src/server/metrics.js';
import { reloadValues } from '../src/server/reload.js';
import { load } from '../src/values/load.js';
import { pick } from './support.js';

const review: JsonObject = JSON.parse(readFileSync('fixtures/reviews/a-pod-that-asks.json', 'utf8'));
const shop: Namespace = { name: 'shop', labels: {}, annotations: { 'linkerd.io/inject': 'enabled' } };

function mesh(values: JsonObject = {}) {
  const result = load([{ tree: values, place: () => ({ from: 'default' }) }]);
  if ('mistakes' in result) throw new Error(JSON.stringify(result.mistakes));
  return meshOf(result.loaded, 'signet test', () => 'checksum');
}

interface Harness {
  readonly app: FastifyInstance;
  readonly metrics: Metrics;
  readonly lines: Readonly<Record<string, unknown>>[];
  readonly decided: Admission[];
}

function harness(t: Test, wiring: Partial<Wiring> = {}, tls?: Parameters<typeof createApp>[1]): Harness {
  const metrics = new Metrics();
  const lines: Readonly<Record<string, unknown>>[] = [];
  const decided: Admission[] = [];
  const values = mesh();
  const app = createApp(
    {
      mesh: () => values,
      namespace: (name) => (name === 'shop' ? shop : bareNamespace(name)),
      isKnown: (name) => name === 'shop',
      metrics,
      log: (line) => lines.push(line),
      warn: (line) => lines.push(line),
      decided: (_review, admission) => decided.push(admission),
      now: () => performance.now(),
      ...wiring,
    },
    tls,
  );
  t.teardown(() => app.close());
  return { app, metrics, lines, decided };
}

function changed(change: (request: Record<string, Json>) => void): JsonObject {
  const copy = structuredClone(review);
  change(copy.request as Record<string, Json>);
  return copy;
}

async function post(
  app: FastifyInstance,
  payload: JsonObject | string,
  url = '/inject',
  headers: Record<string, string> = {},
) {
  const response = await app.inject({
    method: 'POST',
    url,
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { status: response.statusCode, headers: response.headers, json: JSON.parse(response.body) };
}

function podAfter(answer: JsonObject, pod: Json): Json {
  const patch = JSON.parse(Buffer.from(String(pick(answer, '/response/patch')), 'base64').toString());
  return jsonpatch.applyPatch(structuredClone(pod), patch, true).newDocument;
}

t.test('a Pod that asks comes back with the patch that inject() gives', async (t) => {
  const { app, lines, decided } = harness(t);
  const { status, json } = await post(app, review);
  t.equal(status, 200);
  t.match(json, {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid: pick(review, '/request/uid'),
      allowed: true,
      patchType: 'JSONPatch',
      auditAnnotations: { reason: 'injected' },
    },
  });
  const pod = podAfter(json, pick(review, '/request/object') ?? null);
  t.equal(pick(pod, '/spec/initContainers/1/name'), 'linkerd-proxy');
  t.equal(pick(pod, '/metadata/labels/linkerd.io~1proxy-deployment'), 'web');
  t.match(lines, [
    {
      uid: pick(review, '/request/uid'),
      namespace: 'shop',
      name: 'web-5d59d67564-',
      owner: 'deployment/web',
      outcome: 'injected',
      reason: 'injected',
    },
  ]);
  t.equal(decided.length, 1);
  const again = await post(
    app,
    changed((request) => {
      request.object = pod;
    }),
  );
  t.match(again.json.response, { allowed: true, auditAnnotations: { reason: 'already_injected' } });
  t.equal(again.json.response.patch, undefined, 'nothing is injected twice');
  t.equal(again.json.response.warnings, undefined);
});

t.test('what is serialised once is what JSON.stringify would give', async (t) => {
  const object = pick(review, '/request/object') as JsonObject;
  const { additions } = inject(mesh(), { object, namespace: shop, origin: origins.webhook });
  for (let round = 0; round < 2; round++) {
    const pieces = patchPieces(additions);
    const whole = pieces.map((piece) => (typeof piece === 'string' ? piece : piece.text)).join('');
    t.equal(whole, JSON.stringify(patchOf(additions)), 'as text');
    t.same(JSON.parse(Buffer.from(base64Of(pieces), 'base64').toString()), patchOf(additions), 'and as it is sent');
  }
  const long = respond(
    'u',
    written({ allowed: true, additions: [], warnings: ['x'.repeat(300)], reason: 'r', message: '' }),
  );
  t.equal(JSON.parse(long).response.warnings[0].length, 256);
});

/** A review as a 1.36 API server sends it for a replica: what differs from one to the next is its uid and the name of a volume. */
const replica = readFileSync('fixtures/reviews/as-the-api-server-sends-it.json', 'utf8').trim();
const bodyOf = (number: number, volume = 'bcdf2', text = replica) =>
  text
    .replace(/"uid":"[^"]+"/, `"uid":"00000000-0000-0000-0000-${String(number).padStart(12, '0')}"`)
    .replaceAll(/kube-api-access-\w{5}/g, `kube-api-access-${volume}`);

t.test('replicas are decided once, until values or namespace change', async (t) => {
  let values = mesh();
  let namespace = shop;
  const { app, lines, decided } = harness(t, { mesh: () => values, namespace: () => namespace });
  const answers = [];
  for (const [number, volume] of ['aaaaa', 'bbbbb', 'ccccc'].entries())
    answers.push((await post(app, bodyOf(number, volume))).json.response);
  t.match(
    answers.map(({ uid }) => uid.slice(-1)),
    ['0', '1', '2'],
    'each is answered by its uid',
  );
  t.not(decided[0]?.about, decided[1]?.about, 'what comes once is not kept');
  t.equal(decided[1]?.about, decided[2]?.about, 'from the second on it is the very same decision');
  t.match(
    lines.map(({ uid, reason }) => `${uid} ${reason}`),
    answers.map(({ uid }) => `${uid} injected`),
    'each has its line',
  );
  const before = answers[2].patch;
  t.equal((await post(app, bodyOf(3, 'ccccc'))).json.response.patch, before);
  values = mesh({ linkerdVersion: 'other' });
  t.not((await post(app, bodyOf(4, 'ccccc'))).json.response.patch, before, 'new values');
  namespace = { ...shop, annotations: {} };
  t.equal((await post(app, bodyOf(5, 'ccccc'))).json.response.patch, undefined, 'the namespace asks no more');
  const uid = (text: string) => bodyOf(6).replace(/"uid":"[^"]+"/, `"uid":"${text}"`);
  t.equal((await post(app, uid('not-a-uid'))).json.response.uid, 'not-a-uid', 'other uids are answered the long way');
  t.equal((await post(app, bodyOf(7).replaceAll(/kube-api-access-\w{5}/g, '\0'))).status, 400, 'the mask is no name');
});

t.test('a replica is answered from memory as it would be by somebody who has never seen one', async (t) => {
  const volume = fc.stringMatching(/^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  // Where an author could put the name to see what comes of it.
  const played = fc.constantFrom<(text: string, name: string) => string>(
    (text) => text,
    (text, name) => text.replace('"prometheus.io/port":"9102"', `"config.linkerd.io/proxy-log-level":"${name}"`),
    (text, name) => text.replace('"prometheus.io/port":"9102"', `"config.linkerd.io/proxy-cpu-limit":"${name}"`),
    (text, name) => text.replace('"generateName":"web-666d75b895-"', `"name":"${name}"`),
    (text, name) => text.replace('"generateName":"web-666d75b895-"', `"name":"${name}x"`),
    (text, name) => text.replace('{"name":"tmp","emptyDir":{}}', `{"name":"${name}","emptyDir":{}}`),
  );
  let number = 0;
  await fc.assert(
    fc.asyncProperty(volume, volume, played, async (one, other, play) => {
      const { app: fresh, lines: freshLines } = harness(t);
      const { app: warm, lines } = harness(t);
      const body = (name: string) => bodyOf(number++ % 1000, name, play(replica, 'kube-api-access-xxxxx'));
      for (const name of [one, one, one]) await post(warm, body(name));
      const asked = body(other);
      const [found, wanted] = [await post(warm, asked), await post(fresh, asked)];
      t.same(found, { ...wanted, headers: found.headers });
      t.same({ ...lines.at(-1), micros: 0 }, { ...freshLines.at(-1), micros: 0 }, 'and so is its line in the log');
    }),
    { numRuns: 40 },
  );
});

t.test('a skipped Pod that asked hears why, one that did not hears nothing', async (t) => {
  const { app } = harness(t);
  const host = await post(
    app,
    changed((request) => {
      (pick(request, '/object/spec') as Record<string, Json>).hostNetwork = true;
    }),
  );
  t.match(host.json.response, {
    allowed: true,
    warnings: [/hostNetwork is enabled \[host_network_enabled\]/],
    auditAnnotations: { reason: 'host_network_enabled' },
  });
  t.equal(
    pick(podAfter(host.json, pick(review, '/request/object') ?? null), '/metadata/annotations/signet.dev~1skipped'),
    'host_network_enabled',
  );
  const plain = await post(
    app,
    changed((request) => {
      request.namespace = 'plain';
    }),
  );
  t.equal(plain.json.response.warnings, undefined);
  t.match(plain.json.response, { allowed: true, auditAnnotations: { reason: 'injection_enable_annotation_absent' } });
});

t.test('only what asked can be refused', async (t) => {
  const { app } = harness(t);
  const clash = (namespace: string) =>
    changed((request) => {
      request.namespace = namespace;
      const spec = pick(request, '/object/spec') as Record<string, Json>;
      spec.volumes = [{ name: 'linkerd-identity-token', emptyDir: {} }];
    });
  const refused = await post(app, clash('shop'));
  t.match(refused.json.response, {
    allowed: false,
    status: {
      code: 403,
      reason: 'Forbidden',
      message:
        /^signet: .*linkerd-identity-token at \/spec\/volumes\/0; rename it; a mount, put elsewhere \[name_clash\]$/,
    },
  });
  t.match((await post(app, clash('plain'))).json.response, { allowed: true });
});

t.test('the path of labelled namespaces counts as asking, whatever the cache says', async (t) => {
  const { app } = harness(t);
  const lagging = changed((request) => {
    request.namespace = 'new';
  });
  t.equal((await post(app, lagging, '/mutate/namespace')).json.response.auditAnnotations.reason, 'injected');
  t.equal(
    (await post(app, lagging, '/mutate/rest')).json.response.auditAnnotations.reason,
    'injection_enable_annotation_absent',
  );
});

t.test('updates, deletions, subresources and other kinds pass untouched', async (t) => {
  const { app, decided } = harness(t);
  for (const change of [
    { operation: 'UPDATE' },
    { operation: 'DELETE', object: null },
    { subResource: 'ephemeralcontainers' },
    { kind: { kind: 'Deployment' } },
  ]) {
    const { status, json } = await post(
      app,
      changed((request) => Object.assign(request, change)),
    );
    t.equal(status, 200);
    t.same(json.response, {
      uid: pick(review, '/request/uid'),
      allowed: true,
      auditAnnotations: { reason: 'not_concerned' },
    });
  }
  t.equal(decided.length, 4);
});

t.test('a dry run is decided like any other and told to nobody', async (t) => {
  const { app, decided } = harness(t);
  const { json } = await post(
    app,
    changed((request) => {
      request.dryRun = true;
    }),
  );
  t.equal(json.response.patchType, 'JSONPatch');
  t.equal(decided.length, 0);
});

t.test('a Service is told its opaque ports', async (t) => {
  const { app } = harness(t);
  const service = { kind: 'Service', metadata: { name: 'db' }, spec: { ports: [{ port: 3306 }] } };
  const { json } = await post(
    app,
    changed((request) => Object.assign(request, { kind: { kind: 'Service' }, object: service })),
    '/mutate/services',
  );
  t.equal(pick(podAfter(json, service), '/metadata/annotations/config.linkerd.io~1opaque-ports'), '3306');
});

t.test('a trouble of our own is no decision: 500 where failures are ignored, 503 where they are not', async (t) => {
  const broken = harness(t, { namespace: () => Promise.reject(new Error('the API server is away')) });
  for (const path of ['/inject', '/', '/mutate/rest', '/mutate/services'])
    t.equal((await post(broken.app, review, path)).status, 500, path);
  for (const path of ['/mutate/namespace', '/mutate/pod']) {
    const { status, headers, json } = await post(broken.app, review, path);
    t.equal(status, 503, path);
    t.equal(headers['retry-after'], '1');
    t.match(json.error, 'signet cannot read namespace "shop"');
  }
  const bug = harness(t, {
    mesh: () => {
      throw new Error('secret detail');
    },
  });
  const { status, json } = await post(bug.app, review, '/mutate/pod');
  t.equal(status, 503);
  t.notMatch(JSON.stringify(json), /secret detail/);
  t.match(bug.lines, [{ error: 'secret detail' }], 'the log has it');
});

t.test('what is no review is answered in words, and counted', async (t) => {
  const { app, metrics } = harness(t);
  const bad: readonly [string, JsonObject | string, number, RegExp][] = [
    ['not JSON', 'nonsense', 400, /JSON/i],
    ['cut off', '{"kind":"Admiss', 400, /JSON/i],
    ['a list', '[]', 400, /the body: expected a JSON object/],
    [
      'another version',
      { ...review, apiVersion: 'admission.k8s.io/v1beta1' },
      400,
      /apiVersion: expected admission\.k8s\.io\/v1, found "admission\.k8s\.io\/v1beta1"/,
    ],
    ['another kind', { ...review, kind: 'Pod' }, 400, /kind: expected AdmissionReview/],
    [
      'no request',
      { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
      400,
      /request: expected an object, found nothing/,
    ],
    [
      'no uid',
      changed((request) => {
        request.uid = null;
      }),
      400,
      /request\.uid: expected text that is not empty, found null/,
    ],
    [
      'no operation',
      changed((request) => {
        request.operation = 1;
      }),
      400,
      /request\.operation/,
    ],
    [
      'an object that is none',
      changed((request) => {
        request.object = 'pod';
      }),
      400,
      /request\.object: expected an object, found "pod"/,
    ],
    ['a prototype', '{"__proto__": {"x": 1}, "apiVersion": "admission.k8s.io/v1"}', 400, /not valid JSON/],
    ['7 MiB and more', `{"x":"${'x'.repeat(7 * 1024 * 1024)}"}`, 413, /large/i],
  ];
  for (const [what, payload, wanted, message] of bad) {
    const { status, json } = await post(app, payload);
    t.equal(status, wanted, what);
    t.match(json.error, message, what);
  }
  t.equal((await post(app, 'x', '/inject', { 'content-type': 'text/plain' })).status, 415);
  t.equal((await app.inject({ method: 'GET', url: '/inject' })).statusCode, 404);
  t.match(await metrics.registry.metrics(), /signet_admission_errors_total\{cause="bad_request"\} 12/);
});

t.test('strange Pods are no trouble: 10 000 containers, deep nesting, lists where maps should be', async (t) => {
  const { app } = harness(t);
  const many = changed((request) => {
    (pick(request, '/object/spec') as Record<string, Json>).containers = Array.from({ length: 10_000 }, (_, index) => ({
      name: `c${index}`,
      image: 'i',
    }));
  });
  t.equal((await post(app, many)).status, 200);
  let deep: Json = 'x';
  for (let level = 0; level < 2000; level++) deep = { a: deep };
  for (const object of [
    { kind: 'Pod', spec: deep },
    { kind: 'Pod', metadata: [], spec: [] },
    { kind: 'Pod', spec: { containers: { a: 1 } } },
    { kind: 'Pod', metadata: { annotations: ['x'], labels: 7 }, spec: { containers: [null, 1, 'x'] } },
    {},
  ]) {
    const { status, json } = await post(
      app,
      changed((request) => {
        request.object = object;
      }),
    );
    t.equal(status, 200);
    t.equal(json.kind, 'AdmissionReview');
  }
});

t.test('metrics start at zero and are counted under closed sets of labels', async (t) => {
  const { app, metrics } = harness(t);
  const before = await metrics.registry.metrics();
  t.match(before, 'signet_admission_total{outcome="injected",reason="injected"} 0');
  t.match(before, 'signet_admission_total{outcome="refused",reason="name_clash"} 0');
  t.match(before, 'signet_values_invalid 0');
  await post(app, review);
  await post(
    app,
    changed((request) => {
      request.namespace = 'made-up-by-a-stranger';
    }),
  );
  const after = await metrics.registry.metrics();
  t.match(after, 'signet_admission_total{outcome="injected",reason="injected"} 1');
  t.match(after, 'signet_admission_duration_seconds_count 2');
  t.match(
    after,
    'proxy_inject_admission_responses_total{owner_kind="deployment",namespace="shop",skip="false",skip_reason="",annotation_at="namespace"} 1',
  );
  t.match(
    after,
    'proxy_inject_admission_responses_total{owner_kind="deployment",namespace="",skip="true",skip_reason="injection_enable_annotation_absent",annotation_at=""} 1',
  );
  t.notMatch(after, /made-up/);
});

async function pair() {
  const lifetime = { from: Date.now(), ms: 3_600_000 };
  const authority = await makeAuthority(`test-${Math.random()}`, lifetime);
  return { authority, leaf: await makeLeaf(authority, ['localhost'], ['127.0.0.1'], lifetime) };
}

function listening(app: FastifyInstance): Promise<number> {
  return app.listen({ host: '127.0.0.1', port: 0 }).then(() => {
    const address = app.server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
}

function over(port: number, ca: string, agent?: https.Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = https.request(
      {
        host: '127.0.0.1',
        port,
        path: '/inject',
        method: 'POST',
        ca,
        servername: 'localhost',
        headers: { 'content-type': 'application/json' },
        ...(agent === undefined ? {} : { agent }),
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify(review));
  });
}

t.test('certificates change under load without one failed request, and the lowest TLS version stays', async (t) => {
  const first = await pair();
  const { app } = harness(t, {}, { key: first.leaf.key, cert: first.leaf.cert, minVersion: 'TLSv1.2' });
  const port = await listening(app);
  const others = await Promise.all(Array.from({ length: 5 }, () => pair()));
  const bundle = [first, ...others].map(({ authority }) => authority.cert).join('\n');
  const agent = new https.Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  let failed = 0;
  let done = false;
  const load = Array.from({ length: 4 }, async (_, client) => {
    while (!done) if ((await over(port, bundle, client % 2 === 0 ? agent : undefined).catch(() => 0)) !== 200) failed++;
  });
  for (const { leaf } of others) {
    if ('setSecureContext' in app.server && typeof app.server.setSecureContext === 'function')
      app.server.setSecureContext({ ...leaf, minVersion: 'TLSv1.2' });
    await over(port, bundle);
  }
  done = true;
  await Promise.all(load);
  t.equal(failed, 0);
  const served = await new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: bundle }, () =>
      resolve(socket.getPeerX509Certificate()?.toString().trim()),
    );
    t.teardown(() => socket.destroy());
  });
  t.equal(served, others.at(-1)?.leaf.cert.trim());
  const old = await new Promise((resolve) =>
    connect({ port, host: '127.0.0.1', ca: bundle, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })
      .on('error', () => resolve('refused'))
      .on('secureConnect', () => resolve('accepted')),
  );
  t.equal(old, 'refused', 'TLS 1.1 is too old');
  const plain = await new Promise((resolve) => {
    const socket = connectPlain(port, '127.0.0.1', () => socket.write('POST /inject HTTP/1.1\r\n\r\n'));
    socket.on('close', () => resolve('closed'));
    socket.on('error', () => resolve('closed'));
  });
  t.equal(plain, 'closed', 'a client without TLS is sent away');
  t.equal(await over(port, bundle), 200, 'and the server is still there');
});

t.test('callers can be held to a certificate and a name', async (t) => {
  const { leaf, authority } = await pair();
  const callers = await pair();
  const client = async (name: string) => {
    const made = await generate([{ name: 'commonName', value: name }], {
      keyType: 'ec',
      curve: 'P-256',
      algorithm: 'sha256',
      notAfterDate: new Date(Date.now() + 3_600_000),
      ca: callers.authority,
      extensions: [{ name: 'extKeyUsage', clientAuth: true }],
    });
    return { key: made.private, cert: made.cert };
  };
  const [known, stranger] = [await client('kube-apiserver'), await client('stranger')];
  const tls = { ...leaf, ca: callers.authority.cert, requestCert: true, rejectUnauthorized: true };
  const { app } = harness(t, { callers: ['kube-apiserver'] }, tls);
  const port = await listening(app);
  const as = (who: { key: string; cert: string } | undefined) =>
    over(port, authority.cert, new https.Agent({ ...who })).catch(() => 'refused');
  t.equal(await as(undefined), 'refused', 'without a certificate there is no handshake');
  t.equal(await as(stranger), 403);
  t.equal(await as(known), 200);
});

t.test('a client that is slow or goes away is no trouble to others', async (t) => {
  const { leaf, authority } = await pair();
  const { app } = harness(t, { requestTimeoutMs: 300 }, { ...leaf });
  const port = await listening(app);
  let gone = 0;
  const half = (length: number) =>
    new Promise<void>((sent) => {
      const socket = connect({ host: '127.0.0.1', port, ca: authority.cert, servername: 'localhost' }, () => {
        const body = JSON.stringify(review).slice(0, 100);
        socket.write(
          `POST /inject HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`,
          () => sent(),
        );
      });
      socket.on('error', () => {});
      socket.resume().on('close', () => gone++);
      t.teardown(() => socket.destroy());
    });
  await Promise.all(Array.from({ length: 20 }, () => half(5000)));
  t.equal(await over(port, authority.cert), 200);
  await until(() => gone === 20);
  t.pass('and is let go when its time is over');
});

t.test('files of a mounted Secret are taken when they are good, and the old ones kept when they are not', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const [one, two, three] = await Promise.all([pair(), pair(), pair()]);
  let count = 0;
  // As the kubelet does it: a new folder, and then the link to it swapped.
  const mount = (cert: string, key: string) => {
    const data = join(folder, `..${++count}`);
    mkdirSync(data);
    writeFileSync(join(data, 'tls.crt'), cert);
    writeFileSync(join(data, 'tls.key'), key);
    symlinkSync(data, join(folder, '..tmp'));
    renameSync(join(folder, '..tmp'), join(folder, '..data'));
  };
  mount(one.leaf.cert, one.leaf.key);
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name));
  const troubles: string[] = [];
  const taken: string[] = [];
  const source = fileCertificates(join(folder, 'tls.crt'), join(folder, 'tls.key'), 20, (message) =>
    troubles.push(message),
  );
  t.equal(source.current().cert, one.leaf.cert);
  const stop = source.watch(({ cert }) => taken.push(cert));
  t.teardown(stop);
  mount(two.leaf.cert, three.leaf.key);
  await until(() => troubles.length > 0);
  t.match(troubles[0], 'the certificate stays the old one: the key does not belong to the certificate');
  mount('nonsense', two.leaf.key);
  await until(() => troubles.length > 1);
  t.equal(source.current().cert, one.leaf.cert);
  mount(two.leaf.cert, two.leaf.key);
  await until(() => taken.length > 0);
  t.same(taken, [two.leaf.cert]);
  t.throws(() => fileCertificates(join(folder, 'nowhere'), join(folder, 'tls.key'), 20, () => {}), /no such file/);
});

t.test('values are read again when they change, and broken ones never stop admission', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'values.json');
  writeFileSync(file, '{}');
  const heard: string[] = [];
  const stop = reloadValues({
    files: [file],
    pollMs: 20,
    fingerprint: () => readFileSync(file, 'utf8'),
    load: () => mesh(JSON.parse(readFileSync(file, 'utf8'))),
    taken: ({ values }) => heard.push(`taken ${values.proxy.logLevel}`),
    kept: (mistakes) => heard.push(`kept ${mistakes.slice(0, 20)}`),
  });
  t.teardown(stop);
  writeFileSync(file, '{"proxy": {"uid": "x"}}');
  await until(() => heard.length === 1);
  t.match(heard[0], /^kept \[\{"path":"proxy\.uid/);
  writeFileSync(file, '{"proxy": {"logLevel": "trace"}}');
  await until(() => heard.length === 2);
  t.equal(heard[1], 'taken trace');
});

t.test('a server that goes away finishes what it has begun', async (t) => {
  const { leaf, authority } = await pair();
  let release = () => {};
  const gate = new Promise<void>((open) => {
    release = open;
  });
  const { app } = harness(
    t,
    {
      namespace: async () => {
        await gate;
        return shop;
      },
    },
    { ...leaf },
  );
  const port = await listening(app);
  const inFlight = Array.from({ length: 5 }, () => over(port, authority.cert));
  await until(() => app.server.listening);
  const steps: string[] = [];
  const going = drain({
    becomeUnready: () => steps.push('unready'),
    settleMs: 1,
    wait: async (ms) => {
      if (ms !== 1) return new Promise(() => {});
      steps.push('settled');
      await over(port, authority.cert).then(
        () => {},
        () => {},
      );
      return undefined;
    },
    close: async () => {
      steps.push('close');
      await app.close();
    },
    deadlineMs: 1000,
  });
  release();
  t.equal(await going, true);
  t.same(steps, ['unready', 'settled', 'close']);
  t.same(await Promise.all(inFlight), [200, 200, 200, 200, 200]);
});

t.test('probes and metrics have a port of their own', async (t) => {
  const metrics = new Metrics();
  let reason: string | undefined = 'starting';
  const admin = createAdmin(metrics, { notReady: () => reason });
  await new Promise<void>((done) => admin.listen(0, '127.0.0.1', done));
  t.teardown(() => admin.close());
  const address = admin.address();
  const base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const get = async (path: string) => {
    const response = await fetch(base + path);
    return `${response.status} ${(await response.text()).slice(0, 20).trim()}`;
  };
  t.equal(await get('/live'), '200 ok');
  t.equal(await get('/ready'), '503 starting');
  reason = undefined;
  t.equal(await get('/ready'), '200 ok');
  t.match(await get('/metrics'), '200 # HELP');
  t.match(await get('/other'), '404');
});
