import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median, type Row } from './row.js';
import { webhook } from './webhook.js';

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
  const few = peakMemory([program, 'inject', stream(folder, small)]);
  const many = peakMemory([program, 'inject', stream(folder, large)]);
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

const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'));
try {
  console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'CPU'}\n`);
  const only = process.argv.find((one) => one.startsWith('--only='))?.slice('--only='.length);
  const wanted = (name: string) => only === undefined || only === name;
  const rows = [
    ...(wanted('offline') ? [start(folder), throughput(folder), memory(folder)] : []),
    ...(wanted('webhook') ? await webhook(folder, quick) : []),
  ];
  for (const { name, ratio, floor, goal, holds, detail } of rows) {
    const wanted = `floor ${floor}${goal === undefined ? '' : `, goal ${goal}`}`;
    console.log(
      `${holds ? '√' : '×'} ${name.padEnd(46)} ${ratio.toFixed(2).padStart(5)}   ${wanted.padEnd(24)} ${detail}`,
    );
  }
  if (process.argv.includes('--check') && rows.some(({ holds }) => !holds)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
