import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import autocannon from 'autocannon';
import { inject } from '../../src/inject/inject.js';
import { meshOf } from '../../src/inject/mesh.js';
import { origins } from '../../src/inject/origin.js';
import { patchOf } from '../../src/inject/patch.js';
import { makeAuthority, makeLeaf } from '../../src/server/certificates/make.js';
import { load } from '../../src/values/load.js';
import { median, type Row } from './row.js';

const tuned = {
  'config.linkerd.io/proxy-log-level': 'warn,linkerd=debug',
  'config.linkerd.io/proxy-cpu-request': '100m',
  'config.linkerd.io/skip-outbound-ports': '4222,6222',
};

/** Reviews as the API server writes them, of so many workloads: half of them say nothing of their own, half carry three annotations. */
function bodies(workloads: number): readonly string[] {
  const { request } = JSON.parse(readFileSync('fixtures/reviews/a-pod-that-asks.json', 'utf8'));
  return Array.from({ length: workloads }, (_, index) => {
    const object = structuredClone(request.object);
    object.metadata.labels.app = `web-${index}`;
    if (index % 2 === 1) object.metadata.annotations = tuned;
    return JSON.stringify({
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      request: { ...request, object },
    });
  });
}

/**
 * A rollout sends the replicas of some workloads, which are alike byte for byte; the other extreme is that no two Pods are
 * alike, which is what a cluster of nothing but bare Pods would send.
 */
const mixes = [
  { name: 'rollout of 50 workloads', workloads: 50, hasFloor: true },
  { name: 'no two Pods alike', workloads: 10_000, hasFloor: false },
] as const;

interface Measured {
  readonly rate: number;
  readonly micros: number;
  readonly p99: number;
}

/** Measures the webhook in its full configuration beside the bare server; each in a process of its own, in turn. */
export async function webhook(folder: string, quick: boolean): Promise<readonly Row[]> {
  const lifetime = { from: Date.now(), ms: 3_600_000 };
  const authority = await makeAuthority('bench', lifetime);
  const pair = await makeLeaf(authority, ['localhost'], ['127.0.0.1'], lifetime);
  const at = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const [key, cert] = [at('tls.key', pair.key), at('tls.crt', pair.cert)];
  const namespaces = at(
    'namespaces.yaml',
    Array.from(
      { length: 1000 },
      (_, index) =>
        `kind: Namespace\nmetadata: {name: ${index === 0 ? 'shop' : `n${index}`}, annotations: {linkerd.io/inject: enabled}}\n`,
    ).join('---\n'),
  );
  const operations = at('operations.json', JSON.stringify(bodies(2).map(operationsFor)));
  const ours = start([
    resolve('dist/signet.js'),
    'serve',
    '--standalone',
    '--addr',
    '127.0.0.1:18443',
    '--admin-addr',
    '127.0.0.1:19990',
    '--tls-cert',
    cert,
    '--tls-key',
    key,
    '--namespaces',
    namespaces,
    '--drain-seconds',
    '0',
  ]);
  const bare = start([resolve('build/scripts/bench/bare-server.js'), '18444', key, cert, operations]);
  try {
    await Promise.all([answers(18443), answers(18444)]);
    const rows: Row[] = [];
    for (const mix of mixes)
      for (const connections of [10, 50]) rows.push(...(await compare(ours, bare, connections, mix, quick)));
    return rows;
  } finally {
    ours.kill();
    bare.kill();
  }
}

function operationsFor(body: string): unknown {
  const result = load([]);
  if ('mistakes' in result) throw new Error('defaults');
  const mesh = meshOf(result.loaded, 'signet', () => '');
  const namespace = { name: 'shop', labels: {}, annotations: { 'linkerd.io/inject': 'enabled' } };
  const { request } = JSON.parse(body);
  return patchOf(inject(mesh, { object: request.object, namespace, origin: origins.webhook }).additions);
}

async function compare(
  ours: ChildProcess,
  bare: ChildProcess,
  connections: number,
  mix: (typeof mixes)[number],
  quick: boolean,
): Promise<readonly Row[]> {
  const load = bodies(mix.workloads);
  const rounds = quick ? 3 : 5;
  const seconds = quick ? 2 : 4;
  const all = { ours: [] as Measured[], bare: [] as Measured[] };
  // The first seconds of each are for the compiler.
  await measure(ours, 18443, connections, 2, load);
  await measure(bare, 18444, connections, 2, load);
  for (let round = 0; round < rounds; round++) {
    all.bare.push(await measure(bare, 18444, connections, seconds, load));
    all.ours.push(await measure(ours, 18443, connections, seconds, load));
  }
  const middle = (of: readonly Measured[], what: keyof Measured) => median(of.map((one) => one[what]));
  const rate = middle(all.ours, 'rate') / middle(all.bare, 'rate');
  const cpu = middle(all.ours, 'micros') / middle(all.bare, 'micros');
  const p99 = `p99 ${middle(all.ours, 'p99').toFixed(0)} ms against ${middle(all.bare, 'p99').toFixed(0)} ms`;
  return [
    {
      name: `${mix.name}, ${connections} connections: rate`,
      ratio: rate,
      floor: mix.hasFloor ? '≥ 1.0' : 'none',
      ...(mix.hasFloor ? { goal: '≥ 1.2' } : {}),
      holds: !mix.hasFloor || rate >= 1,
      detail: `${middle(all.ours, 'rate').toFixed(0)}/s against ${middle(all.bare, 'rate').toFixed(0)}/s; ${p99}`,
    },
    {
      name: `${mix.name}, ${connections} connections: CPU`,
      ratio: cpu,
      floor: mix.hasFloor ? '≤ 1.0' : 'none',
      ...(mix.hasFloor ? { goal: '≤ 0.8' } : {}),
      holds: !mix.hasFloor || cpu <= 1,
      detail: `${middle(all.ours, 'micros').toFixed(0)} µs an admission against ${middle(all.bare, 'micros').toFixed(0)} µs`,
    },
  ];
}

/** As many workloads as a rollout has are sent by every connection. */
const mostShared = 50;

async function measure(
  server: ChildProcess,
  port: number,
  connections: number,
  duration: number,
  load: readonly string[],
): Promise<Measured> {
  const before = cpuTicks(server);
  let next = 0;
  const result = await autocannon({
    url: `https://127.0.0.1:${port}/inject`,
    connections,
    duration,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    // Each connection has Pods of its own: with one list for all they would ask the same things at the same time.
    setupClient: (client) => {
      const own = load.length <= mostShared ? load : load.slice((next * 1000) % load.length).slice(0, 1000);
      next++;
      client.setRequests(own.map((body) => ({ body })));
    },
  });
  if (result.non2xx + result.errors > 0)
    throw new Error(`${result.non2xx} answers were no success, ${result.errors} requests failed`);
  const ticks = cpuTicks(server) - before;
  // A tick of the scheduler is a hundredth of a second.
  return {
    rate: result.requests.total / result.duration,
    micros: (ticks * 10_000) / result.requests.total,
    p99: result.latency.p99,
  };
}

function cpuTicks({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, args, { stdio: 'ignore' });
}

async function answers(port: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await autocannon({
        url: `https://127.0.0.1:${port}/inject`,
        connections: 1,
        amount: 1,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: bodies(1)[0] ?? '',
      }).then((result) => {
        if (result['2xx'] !== 1) throw new Error('not yet');
      });
      return;
    } catch (error) {
      if (tries > 50) throw error;
      await new Promise((turn) => setTimeout(turn, 100));
    }
  }
}
