import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { chart } from './chart.js';
import { median } from './row.js';
import { bodies, residentMb, Servers } from './servers.js';

// `npm run soak -- --minutes 10`: the webhook under a steady load of Pods that are all different. Memory, open handles and the lag of the
// event loop must be flat once it is warm; they are drawn as scripts/bench/soak.svg.

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, rate: { type: 'string', default: '300' } },
});
const minutes = Number(values.minutes);
const samples: { readonly at: number; readonly memory: number; readonly handles: number; readonly lag: number }[] = [];
const folder = mkdtempSync(join(tmpdir(), 'signet-soak-'));
const servers = new Servers(folder);
try {
  const ours = await servers.ours(1000);
  const pid = ours.child.pid ?? 0;
  const lagNow = async () => {
    const text = await (await fetch(`http://127.0.0.1:${ours.adminPort}/metrics`)).text();
    return Number(/^signet_event_loop_lag_seconds (\S+)/m.exec(text)?.[1] ?? 0) * 1000;
  };
  const begun = Date.now();
  const all = bodies(20_000);
  const running = autocannon({
    url: `https://127.0.0.1:${ours.port}/inject`,
    connections: 20,
    overallRate: Number(values.rate),
    duration: minutes * 60,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    setupClient: (client) =>
      client.setRequests(
        all
          .slice(Math.floor(Math.random() * 19_000))
          .slice(0, 1000)
          .map((body) => ({ body })),
      ),
  });
  // The first sample counts the lag of the start.
  await lagNow();
  const every = Math.max(1000, (minutes * 60_000) / 240);
  while (Date.now() - begun < minutes * 60_000 - every) {
    await delay(every);
    samples.push({
      at: (Date.now() - begun) / 60_000,
      memory: residentMb(ours.child),
      handles: readdirSync(`/proc/${pid}/fd`).length,
      lag: await lagNow(),
    });
  }
  const { requests, errors, non2xx } = await running;
  console.log(`${requests.total} admissions in ${minutes} minutes, ${errors + non2xx} failed`);
  if (errors + non2xx > 0) process.exitCode = 1;
} finally {
  servers.stop();
  rmSync(folder, { recursive: true });
}

// The first third is for the compiler and the collector to find their measure; the last must be like the one before it.
const third = Math.floor(samples.length / 3);
const grows: readonly (readonly ['memory' | 'handles' | 'lag', string, number, number])[] = [
  ['memory', 'MB resident', 1.1, 5],
  ['handles', 'open handles', 1, 5],
  ['lag', 'ms of event loop lag, p99', 1.5, 10],
];
for (const [key, unit, factor, slack] of grows) {
  const middle = median(samples.slice(third, 2 * third).map((one) => one[key]));
  const last = median(samples.slice(2 * third).map((one) => one[key]));
  const isFlat = last <= middle * factor + slack;
  console.log(`${isFlat ? '√' : '×'} ${key.padEnd(8)} ${middle.toFixed(1)} → ${last.toFixed(1)} ${unit}`);
  if (!isFlat) process.exitCode = 1;
}
writeFileSync(
  'scripts/bench/soak.svg',
  chart(
    `signet for ${minutes} minutes at ${values.rate} admissions a second, no two Pods alike`,
    grows.map(([key, unit]) => ({ name: unit, points: samples.map((one) => [one.at, one[key]] as const) })),
  ),
);
