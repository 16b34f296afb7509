import { Agent } from 'node:https';
import autocannon from 'autocannon';
import { median, type Row } from './row.js';
import { bodies, cpuMicros, post, type Running, residentMb, reviewOf, Servers } from './servers.js';

/**
 * A rollout sends the replicas of some workloads, each decided once. The other extreme is that no two Pods are alike: each is judged
 * anew, which the bare server never does. There the limit is what was reached, so that nobody loses it again.
 */
const mixes = [
  { name: 'rollout of 50 workloads', workloads: 50, replicas: 200, rate: 1, cpu: 1, goals: { rate: 1.2, cpu: 0.8 } },
  { name: 'no two Pods alike', workloads: 10_000, replicas: 1, rate: 0.45, cpu: 2.3, goals: undefined },
] as const;

interface Measured {
  readonly rate: number;
  readonly micros: number;
  readonly p99: number;
}

/** Measures the webhook in its full configuration beside the bare server; each in a process of its own, in turn. */
export async function webhook(folder: string, quick: boolean): Promise<readonly Row[]> {
  const servers = new Servers(folder);
  try {
    const ours = await servers.ours(1000);
    const bare = await servers.bare();
    const rows: Row[] = [];
    for (const mix of mixes)
      for (const connections of [10, 50]) rows.push(...(await compare(ours, bare, connections, mix, quick)));
    return rows;
  } finally {
    servers.stop();
  }
}

/** What grows, from small to large, and how the cost of one review grows with it. */
export async function sizes(folder: string, quick: boolean): Promise<readonly Row[]> {
  const servers = new Servers(folder);
  const rounds = quick ? 4 : 8;
  const requests = quick ? 100 : 200;
  try {
    const [few, some, many] = [await servers.ours(10), await servers.ours(1000), await servers.ours(10_000)];
    const bare = await servers.bare();
    const containers = (count: number) =>
      reviewOf(({ spec }) => {
        const [first = {}] = spec.containers;
        spec.containers = Array.from({ length: count }, (_, index) => ({ ...first, name: `c${index}` }));
      });
    const annotation = (length: number) =>
      reviewOf(({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, 'example.com/text': 'x'.repeat(length) };
      });
    let salt = 0;
    /** The processor time of a review; every one is another, or it would be answered from memory. */
    const cost = async ({ child, port }: Running, body: string) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const begun = cpuMicros(child);
      for (let index = 0; index < requests; index++) {
        const { isInjected } = await post(port, body.replace('"app":"', `"app":"s${salt++}-`), 5000, agent);
        if (!isInjected) throw new Error('a Pod was not injected');
      }
      agent.destroy();
      return (cpuMicros(child) - begun) / requests;
    };
    const compare = async (name: string, factor: number, small: () => Promise<number>, big: () => Promise<number>) => {
      const costs: { readonly small: number[]; readonly big: number[] } = { small: [], big: [] };
      await small();
      await big();
      for (let round = 0; round < rounds; round++) {
        costs.small.push(await small());
        costs.big.push(await big());
      }
      const ratio = median(costs.big) / median(costs.small);
      return {
        name,
        ratio,
        floor: `≤ ${factor}`,
        holds: ratio <= factor,
        detail: `${median(costs.big).toFixed(0)} µs of CPU against ${median(costs.small).toFixed(0)} µs`,
      };
    };
    const grows = (name: string, factor: number, small: string, big: string) =>
      compare(
        name,
        factor,
        () => cost(few, small),
        () => cost(few, big),
      );
    const rows = [
      await grows('Pods with 10 containers / 1', 10, containers(1), containers(10)),
      await grows('Pods with 100 containers / 10', 10, containers(10), containers(100)),
      await grows('an annotation of 200 KB / 1 KB', 200, annotation(1000), annotation(200_000)),
    ];
    const one = containers(1);
    const against = (name: string, small: Running, big: Running) =>
      compare(
        name,
        1.5,
        () => cost(small, one),
        () => cost(big, one),
      );
    // As warm as the first, which has had all of the above.
    for (let round = 0; round < 6 * rounds; round++) for (const server of [some, many]) await cost(server, one);
    rows.push(await against('1 000 namespaces / 10: CPU of a review', few, some));
    rows.push(await against('10 000 namespaces / 1 000: CPU of a review', some, many));
    // As many as the others have had.
    for (let round = 0; round <= 8 * rounds; round++) await cost(bare, one);
    const [own, middle, theirs] = [residentMb(many.child), residentMb(some.child), residentMb(bare.child)];
    rows.push({
      name: '10 000 namespaces / 1 000: memory',
      ratio: own / middle,
      floor: '≤ 10',
      holds: own / middle <= 10,
      detail: `${own.toFixed(0)} MB against ${middle.toFixed(0)} MB`,
    });
    rows.push({
      name: '10 000 namespaces: memory beyond bare, of 60 MB',
      ratio: (own - theirs) / 60,
      floor: '≤ 1.0',
      holds: own - theirs <= 60,
      detail: `${own.toFixed(0)} MB against ${theirs.toFixed(0)} MB`,
    });
    return rows;
  } finally {
    servers.stop();
  }
}

/** A thousand Pods at once, each on a connection of its own, as impatient as the API server is. */
export async function burst(folder: string): Promise<readonly Row[]> {
  const servers = new Servers(folder);
  try {
    const ours = await servers.ours(1000);
    const all = bodies(1000);
    const posted = await Promise.all(all.map((body) => post(ours.port, body, 5000)));
    const lost = posted.filter(({ isInjected }) => !isInjected).length;
    const times = posted.map(({ ms }) => ms).sort((a, b) => a - b);
    const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
    return [
      {
        name: 'a burst of 1 000 Pods: lost',
        ratio: lost,
        floor: '0',
        holds: lost === 0,
        detail: `p99 ${p99.toFixed(0)} ms of 5 000, a TLS handshake each`,
      },
    ];
  } finally {
    servers.stop();
  }
}

async function compare(
  ours: Running,
  bare: Running,
  connections: number,
  mix: (typeof mixes)[number],
  quick: boolean,
): Promise<readonly Row[]> {
  const load = bodies(mix.workloads, mix.replicas);
  const rounds = quick ? 3 : 5;
  const seconds = quick ? 2 : 4;
  const all = { ours: [] as Measured[], bare: [] as Measured[] };
  // The first seconds of each are for the compiler.
  await measure(ours, connections, 2, load);
  await measure(bare, connections, 2, load);
  for (let round = 0; round < rounds; round++) {
    all.bare.push(await measure(bare, connections, seconds, load));
    all.ours.push(await measure(ours, connections, seconds, load));
  }
  const middle = (of: readonly Measured[], what: keyof Measured) => median(of.map((one) => one[what]));
  const rate = middle(all.ours, 'rate') / middle(all.bare, 'rate');
  const cpu = middle(all.ours, 'micros') / middle(all.bare, 'micros');
  const p99 = `p99 ${middle(all.ours, 'p99').toFixed(0)} ms against ${middle(all.bare, 'p99').toFixed(0)} ms`;
  const named = (what: string) => `${mix.name}, ${connections} connections: ${what}`;
  return [
    {
      name: named('rate'),
      ratio: rate,
      floor: `≥ ${mix.rate.toFixed(2)}`,
      ...(mix.goals === undefined ? {} : { goal: `≥ ${mix.goals.rate}` }),
      holds: rate >= mix.rate,
      detail: `${middle(all.ours, 'rate').toFixed(0)}/s against ${middle(all.bare, 'rate').toFixed(0)}/s; ${p99}`,
    },
    {
      name: named('CPU'),
      ratio: cpu,
      floor: `≤ ${mix.cpu.toFixed(2)}`,
      ...(mix.goals === undefined ? {} : { goal: `≤ ${mix.goals.cpu}` }),
      holds: cpu <= mix.cpu,
      detail: `${middle(all.ours, 'micros').toFixed(0)} µs an admission against ${middle(all.bare, 'micros').toFixed(0)} µs`,
    },
  ];
}

async function measure(
  { child, port }: Running,
  connections: number,
  duration: number,
  load: readonly string[],
): Promise<Measured> {
  const before = cpuMicros(child);
  let next = 0;
  const result = await autocannon({
    url: `https://127.0.0.1:${port}/inject`,
    connections,
    duration,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    // Each connection has Pods of its own: with one list for all they would ask the same things at the same time.
    setupClient: (client) => {
      const first = next++;
      client.setRequests(load.filter((_, index) => index % connections === first).map((body) => ({ body })));
    },
  });
  if (result.non2xx + result.errors > 0)
    throw new Error(`${result.non2xx} answers were no success, ${result.errors} requests failed`);
  if (!(await post(port, load[0] ?? '', 5000)).isInjected) throw new Error('what is measured injects nothing');
  return {
    rate: result.requests.total / result.duration,
    micros: (cpuMicros(child) - before) / result.requests.total,
    p99: result.latency.p99,
  };
}
