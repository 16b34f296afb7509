import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { line, picture, report } from './report.js';
import { median, type Row } from './row.js';
import { Servers } from './servers.js';
import { burst, sizes, webhook } from './webhook.js';

// Measures signet beside something bare, in one run, interleaved, and prints the ratio of the medians: on a noisy machine
// nothing else means anything. `--check` exits with 1 when a floor is missed.

const program = resolve('dist/signet.js');
const bareStream = resolve('build/scripts/bench/bare-stream.js');
const quick = process.argv.includes('--quick');

/** Runs commands in turn, so that whatever else the machine does hits all of them alike; gives the median of each. */
function interleaved(
  rounds: number,
  commands: { readonly [name: string]: () => number },
): { readonly [name: string]: number } {
  const times = new Map<string, number[]>(Object.keys(commands).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(commands)) times.get(name)?.push(run());
  }
  return Object.fromEntries([...times].map(([name, all]) => [name, median(all)]));
}

function milliseconds(args: readonly string[]): number {
  const start = performance.now();
  const ran = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  if (ran.status !== 0) throw new Error(`${args.join(' ')} ended with ${ran.status}: ${ran.stderr}`);
  return performance.now() - start;
}

const tellPeak =
  'import{writeSync}from"node:fs";process.on("exit",()=>writeSync(3,String(process.resourceUsage().maxRSS)))';

/** Peak resident memory of a run, in MB. */
function peakMemory(args: readonly string[]): number {
  const ran = spawnSync(process.execPath, ['--import', `data:text/javascript,${tellPeak}`, ...args], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  return Number(String(ran.output[3])) / 1024;
}

function deployment(index: number): string {
  return readFileSync('scripts/bench/deployment.yaml', 'utf8').replaceAll('NAME', `web-${index}`);
}

function stream(folder: string, count: number): string {
  const file = join(folder, `${count}.yaml`);
  const descriptor = openSync(file, 'w');
  for (let index = 0; index < count; index++) writeSync(descriptor, (index === 0 ? '' : '---\n') + deployment(index));
  closeSync(descriptor);
  return file;
}

function start(folder: string): Row {
  const file = join(folder, 'one.yaml');
  writeFileSync(file, deployment(0));
  const result = interleaved(quick ? 7 : 25, {
    bare: () => milliseconds(['-e', '0']),
    ours: () => milliseconds([program, 'inject', file]),
  });
  const [bare = 1, ours = 1] = [result.bare, result.ours];
  const ratio = ours / bare;
  return {
    name: 'inject one file / node -e 0',
    ratio,
    floor: '≤ 1.7',
    goal: '≤ 1.5',
    holds: ratio <= 1.7,
    detail: `${ours.toFixed(0)} ms against ${bare.toFixed(0)} ms`,
  };
}

function throughput(folder: string): Row {
  const count = quick ? 2_000 : 10_000;
  const file = stream(folder, count);
  const result = interleaved(quick ? 3 : 5, {
    bare: () => milliseconds([bareStream, file]),
    ours: () => milliseconds([program, 'inject', file]),
  });
  const [bare = 1, ours = 1] = [result.bare, result.ours];
  const ratio = bare / ours;
  const rate = (time: number) => `${Math.round(count / (time / 1000))}/s`;
  return {
    name: `inject ${count} Deployments / parseDocument`,
    ratio,
    floor: '≥ 0.6',
    holds: ratio >= 0.6,
    detail: `${rate(ours)} against ${rate(bare)}`,
  };
}

function memory(folder: string): Row {
  const [small, large] = quick ? [10_000, 30_000] : [10_000, 100_000];
  const [fewFile, manyFile] = [stream(folder, small), stream(folder, large)];
  const { few = 1, many = 1 } = interleaved(quick ? 1 : 3, {
    few: () => peakMemory([program, 'inject', fewFile]),
    many: () => peakMemory([program, 'inject', manyFile]),
  });
  const ratio = many / few;
  // Garbage is collected when the collector pleases: a tenth more is no growth.
  return {
    name: `memory, ${large} documents / ${small}`,
    ratio,
    floor: '≤ 1.1',
    holds: ratio <= 1.1,
    detail: `${many.toFixed(0)} MB against ${few.toFixed(0)} MB`,
  };
}

async function serveStart(folder: string): Promise<Row> {
  const servers = new Servers(folder);
  const [bare, ours]: [number[], number[]] = [[], []];
  try {
    for (let round = 0; round < (quick ? 5 : 15); round++) {
      bare.push(milliseconds(['-e', '0']));
      const running = await servers.ours(100);
      ours.push(running.startMs);
      running.child.kill('SIGKILL');
    }
  } finally {
    servers.stop();
  }
  const ratio = median(ours) / median(bare);
  return {
    name: 'serve, from exec to ready / node -e 0',
    ratio,
    floor: '≤ 5',
    holds: ratio <= 5,
    detail: `${median(ours).toFixed(0)} ms against ${median(bare).toFixed(0)} ms`,
  };
}

const parts: { readonly [name: string]: (folder: string) => Promise<readonly Row[]> } = {
  start: async (folder) => [start(folder), await serveStart(folder)],
  stream: async (folder) => [throughput(folder), memory(folder)],
  webhook: (folder) => webhook(folder, quick),
  sizes: (folder) => sizes(folder, quick),
  burst,
};

const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'));
try {
  const machine = `Node ${process.version.slice(1)}, ${cpus().length} × ${cpus()[0]?.model ?? 'CPU'}`;
  console.log(`${machine}\n`);
  const only = process.argv.find((one) => one.startsWith('--only='))?.slice('--only='.length);
  if (only !== undefined && !(only in parts))
    throw new Error(`there is no part ${only}; there are ${Object.keys(parts).join(', ')}`);
  const rows: Row[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (only !== undefined && only !== name) continue;
    for (const row of await measure(folder)) {
      rows.push(row);
      console.log(line(row));
    }
  }
  if (process.argv.includes('--write')) {
    if (only !== undefined || quick) throw new Error('--write is for a whole run, without --only and --quick');
    writeFileSync('scripts/bench/results.svg', picture(rows, machine));
    writeFileSync('scripts/bench/README.md', report(rows, machine));
  }
  if (process.argv.includes('--check') && rows.some(({ holds }) => !holds)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
