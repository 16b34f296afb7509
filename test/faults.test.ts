import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { freePorts } from '../scripts/control-plane/start.js';
import { FakeApi, until } from '../scripts/fake-api.js';
import { Api } from '../src/cluster/api.js';
import { NamespaceCache } from '../src/cluster/namespaces.js';
import { meshOf } from '../src/inject/mesh.js';
import type { Json } from '../src/json.js';
import { objectAt, textAt } from '../src/json.js';
import { createApp } from '../src/server/app.js';
import { makeAuthority, makeLeaf } from '../src/server/certificates/make.js';
import { SelfSignedCertificates, type Stored } from '../src/server/certificates/self-signed.js';
import { Metrics } from '../src/server/metrics.js';
import { load } from '../src/values/load.js';

// Each fault under a steady load of Pods that asked; the counts of failed and of uninjected admissions must be zero. The same
// on a real API server is in test/cluster/faults.test.ts.

const body = readFileSync('fixtures/reviews/as-the-api-server-sends-it.json', 'utf8').trim();
const hour = 3_600_000;

/** A stream of reviews of Pods that opted in, over TLS that is verified, one after the other on a few connections. */
class Load {
  readonly #port: () => number;
  readonly #ca: () => string;
  #isOver = false;
  #count = 0;
  failed = 0;
  uninjected = 0;
  readonly words = new Set<string>();
  #lanes: readonly Promise<void>[] = [];

  constructor(port: () => number, ca: () => string) {
    this.#port = port;
    this.#ca = ca;
    this.#lanes = [0, 1, 2].map(() => this.#stream());
  }

  get count(): number {
    return this.#count;
  }

  /** Waits for some more of them. */
  async more(count: number): Promise<void> {
    const goal = this.#count + count;
    await until(() => this.#count >= goal);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#lanes);
  }

  async #stream(): Promise<void> {
    while (!this.#isOver) {
      // A handshake for each: what is served now is verified by what is trusted now.
      const agent = new Agent({ ca: this.#ca(), maxCachedSessions: 0 });
      const word = await this.#send(agent);
      agent.destroy();
      this.#count++;
      if (word === undefined) continue;
      this.words.add(word);
      if (word === 'uninjected') this.uninjected++;
      else this.failed++;
    }
  }

  #send(agent: Agent): Promise<string | undefined> {
    return new Promise((done) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const options = { host: '127.0.0.1', port: this.#port(), path: '/mutate/pod', method: 'POST', headers, agent };
      const sent = request({ ...options, timeout: 5000 }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        response.on('end', () => {
          if (response.statusCode !== 200) return done(`status ${response.statusCode}`);
          const json: Json = JSON.parse(text);
          done(textAt(objectAt(json, 'response'), 'patch') === undefined ? 'uninjected' : undefined);
        });
      });
      sent.on('timeout', () => sent.destroy(new Error('timeout')));
      sent.on('error', (error) => done(error.message));
      sent.end(body);
    });
  }
}

async function holds(t: Test, load: Load, title: string): Promise<void> {
  await load.end();
  t.comment(`${title}: ${load.count} admissions, ${load.failed} failed, ${load.uninjected} uninjected`);
  t.ok(load.count > 20, 'there was a load');
  t.equal(load.failed, 0, `none failed: ${[...load.words].join('; ')}`);
  t.equal(load.uninjected, 0, 'none came out without its identity');
}

async function serving(
  t: Test,
  folder: string,
  flags: readonly string[] = [],
): Promise<{ child: ChildProcess; port: number; log: () => string }> {
  const [port = 0, admin = 0] = await freePorts(2);
  let text = '';
  const child = spawn(process.execPath, [
    ...flags,
    ...['dist/signet.js', 'serve', '--standalone', '--drain-seconds', '0', '--values', join(folder, 'values.yaml')],
    ...['--namespaces', 'fixtures/reviews/namespaces.yaml'],
    ...['--addr', `127.0.0.1:${port}`, '--admin-addr', `127.0.0.1:${admin}`],
    ...['--tls-cert', join(folder, 'tls.crt'), '--tls-key', join(folder, 'tls.key')],
  ]);
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  t.teardown(() => child.kill('SIGKILL'));
  await until(() => text.includes('"ready"'));
  return { child, port, log: () => text };
}

async function pairIn(folder: string): Promise<{
  ca: string;
  write: (cert: string, key: string) => void;
  next: () => Promise<{ cert: string; key: string }>;
}> {
  const lifetime = { from: Date.now(), ms: hour };
  const authority = await makeAuthority('faults', lifetime);
  const next = () => makeLeaf(authority, ['localhost'], ['127.0.0.1'], lifetime);
  const write = (cert: string, key: string) => {
    writeFileSync(join(folder, 'tls.crt'), cert);
    writeFileSync(join(folder, 'tls.key'), key);
  };
  const { cert, key } = await next();
  write(cert, key);
  return { ca: authority.cert, write, next };
}

t.test('certificate files that break, pairs that do not match, values that break', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-faults-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'values.yaml'), 'proxy: {logLevel: info}\n');
  const { ca, write, next } = await pairIn(folder);
  const { port, log } = await serving(t, folder);
  const faults: readonly (readonly [string, () => Promise<void>, string, () => Promise<void>, string])[] = [
    [
      'a broken certificate file',
      async () => writeFileSync(join(folder, 'tls.crt'), '-----BEGIN CERTIFICATE-----\nAAAA\n'),
      'the certificate stays the old one',
      async () => {
        const { cert, key } = await next();
        write(cert, key);
      },
      'serving a new certificate',
    ],
    [
      'a mismatched pair',
      async () => writeFileSync(join(folder, 'tls.key'), (await next()).key),
      'the key does not belong to the certificate',
      async () => {
        const { cert, key } = await next();
        write(cert, key);
      },
      'serving a new certificate',
    ],
    [
      'a broken values file',
      async () => writeFileSync(join(folder, 'values.yaml'), 'proxy: [\n'),
      'the values on disk are invalid',
      async () => writeFileSync(join(folder, 'values.yaml'), 'proxy: {logLevel: debug}\n'),
      'the values were read again',
    ],
  ];
  for (const [title, hurt, seen, heal, healed] of faults) {
    const load = new Load(
      () => port,
      () => ca,
    );
    await load.more(10);
    const before = log().length;
    await hurt();
    await until(() => log().slice(before).includes(seen));
    await load.more(20);
    const middle = log().length;
    await heal();
    await until(() => log().slice(middle).includes(healed));
    await load.more(20);
    await holds(t, load, title);
  }
});

/** The webhook over a fake API server, with time that a test lets pass. */
async function stand(t: Test) {
  const server = new FakeApi();
  await server.start();
  server.put('/api/v1/namespaces/shop', {
    kind: 'Namespace',
    metadata: { name: 'shop', annotations: { 'linkerd.io/inject': 'enabled' } },
  });
  let waited = 0;
  const cache = new NamespaceCache(new Api(server.access), {
    wait: async (ms) => {
      waited += ms;
      await new Promise((turn) => setImmediate(turn));
    },
    random: () => 0,
    onTrouble: () => {},
  });
  const following = cache.run();
  await until(() => cache.isSynced && server.watching === 1);
  const loaded = load([]);
  if ('mistakes' in loaded) throw new Error('the defaults are not valid');
  const mesh = meshOf(loaded.loaded, 'signet', () => '');
  const wiring = {
    mesh: () => mesh,
    namespace: (name: string) => cache.find(name),
    isKnown: (name: string) => cache.has(name),
    metrics: new Metrics(),
    log: () => {},
    warn: () => {},
    decided: () => {},
    now: () => 0,
  };
  t.teardown(async () => {
    cache.stop();
    await server.stop();
    await following;
  });
  return { server, cache, wiring, waited: () => waited };
}

async function listening(t: Test, app: ReturnType<typeof createApp>): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const address = app.server.address();
  return (address as AddressInfo).port;
}

t.test('the API server is gone for a minute, and its watch is cut again and again', async (t) => {
  const { server, cache, wiring, waited } = await stand(t);
  const lifetime = { from: Date.now(), ms: hour };
  const authority = await makeAuthority('gone', lifetime);
  const pair = await makeLeaf(authority, ['localhost'], ['127.0.0.1'], lifetime);
  const port = await listening(t, createApp(wiring, pair));
  const away = new Load(
    () => port,
    () => authority.cert,
  );
  await away.more(5);
  const before = waited();
  // Whatever it is asked, it hangs up.
  const hangUp = (response: { destroy: () => void }) => void response.destroy();
  server.cutWatches();
  while (waited() - before < 60_000) {
    server.faults.push(hangUp);
    await away.more(1);
  }
  await away.more(10);
  server.faults.length = 0;
  await until(() => server.watching === 1);
  await holds(t, away, 'API server gone for a minute');

  const cut = new Load(
    () => port,
    () => authority.cert,
  );
  for (let second = 0; second < 30; second++) {
    server.cutWatches();
    await cut.more(2);
    await until(() => server.watching === 1);
  }
  server.put('/api/v1/namespaces/later', { kind: 'Namespace', metadata: { name: 'later' } });
  await until(() => cache.has('later'));
  await holds(t, cut, 'watch cut every second');
});

t.test('the clock is a day behind when certificates are made, is set right, and set back again', async (t) => {
  const { wiring } = await stand(t);
  let shift = -24 * hour;
  let bundle = '';
  let secret: { stored: Stored; version: string } | undefined;
  let checks = 0;
  const troubles: string[] = [];
  const certificates = new SelfSignedCertificates({
    store: {
      read: async () => secret,
      write: async (stored, basedOn) => {
        if (secret?.version !== basedOn) return false;
        secret = { stored, version: String(Number(basedOn ?? 0) + 1) };
        return true;
      },
    },
    register: async (text) => {
      bundle = text;
    },
    dnsNames: ['localhost'],
    addresses: ['127.0.0.1'],
    lifetimes: { authorityMs: 365 * 24 * hour, leafMs: 30 * 24 * hour, checkMs: 1, settleMs: 0 },
    now: () => Date.now() + shift,
    wait: async () => {
      checks++;
      await new Promise((turn) => setTimeout(turn, 1));
    },
    onTrouble: (message) => troubles.push(message),
  });
  await certificates.start();
  const app = createApp(wiring, certificates.current());
  const { server } = app;
  t.teardown(
    certificates.watch((pair) => {
      if ('setSecureContext' in server && typeof server.setSecureContext === 'function') server.setSecureContext(pair);
    }),
  );
  const port = await listening(t, app);
  const load = new Load(
    () => port,
    () => bundle,
  );
  const passes = async () => {
    const goal = checks + 5;
    await until(() => checks >= goal);
    await load.more(15);
  };
  await passes();
  shift = 0;
  await passes();
  shift = -24 * hour;
  await passes();
  t.same(troubles, []);
  await holds(t, load, 'the clock set back');
});

t.test('whoever fills the memory of decisions gets no more of it than there is', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const { ca } = await pairIn(folder);
  writeFileSync(join(folder, 'values.yaml'), '{}\n');
  const { child, port } = await serving(t, folder, ['--max-old-space-size=90']);
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 4 });
  t.teardown(() => agent.destroy());
  // 60 KB of text that take more than a megabyte once they are parsed, each sent twice, by which it is kept.
  const padding = `"x":[${'{},'.repeat(19_000)}{}]`;
  const large = readFileSync('fixtures/reviews/as-the-api-server-sends-it.json', 'utf8').replace(
    '"preemptionPolicy"',
    `${padding},"preemptionPolicy"`,
  );
  const paths = ['/inject', '/', '/mutate/namespace', '/mutate/pod', '/mutate/rest', '/mutate/services'];
  let answered = 0;
  const send = (path: string, text: string) =>
    new Promise<void>((done, fail) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
      const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent }, (response) => {
        response.resume().on('end', () => {
          answered += response.statusCode === 200 ? 1 : 0;
          done();
        });
      });
      sent.on('error', fail);
      sent.end(text);
    });
  for (const path of paths)
    for (let index = 0; index < 100; index++) {
      const text = large.replace('"app":"web"', `"app":"web-${index}"`);
      await send(path, text);
      await send(path, text);
    }
  t.equal(answered, 1200, 'every one is answered');
  t.equal(child.exitCode, null, 'and the webhook is still there');
});
