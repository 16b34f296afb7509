import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { targets } from './targets.js';

// `npm run fuzz -- --seconds 60 --seed 7`: a million cases, or as many as fit into the time. A failure is printed with its seed and
// kept in fixtures/fuzz/, where `npm test` tries it for good.

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3600' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    cases: { type: 'string', default: '1000000' },
  },
});
const end = Date.now() + Number(values.seconds) * 1000;
const wanted = Number(values.cases);
let seed = Number(values.seed);
console.log(`seed ${seed}, ${wanted} cases or ${values.seconds} s, whatever comes first`);

const counts = new Map<string, number>(targets.map(({ name }) => [name, 0]));
const total = () => [...counts.values()].reduce((sum, count) => sum + count, 0);
const batch = 500;
let failures = 0;
while (Date.now() < end && total() < wanted) {
  for (const target of targets) {
    const { numRuns, failure } = await target.run({ seed, numRuns: batch });
    counts.set(target.name, (counts.get(target.name) ?? 0) + numRuns);
    if (failure === undefined) continue;
    failures++;
    const { input, error } = failure;
    const kept = JSON.stringify({ target: target.name, input }, undefined, 2);
    const file = `fixtures/fuzz/${target.name}-${createHash('sha256').update(kept).digest('hex').slice(0, 8)}.json`;
    mkdirSync('fixtures/fuzz', { recursive: true });
    writeFileSync(file, `${kept}\n`);
    const words = error instanceof Error ? error.stack : String(error);
    console.log(`× ${target.name}, seed ${failure.seed}: ${words}\n  kept in ${file}`);
  }
  seed = (seed + 1) % 2 ** 31;
  if (failures >= 5) break;
}
for (const [name, count] of counts) console.log(`${name.padEnd(12)} ${count}`);
console.log(failures === 0 ? `√ ${total()} cases` : `× ${failures} failures in ${total()} cases`);
process.exitCode = failures === 0 ? 0 : 1;
