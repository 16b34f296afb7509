import type { Row } from './row.js';

/** One row for a terminal. */
export function line({ name, ratio, floor, goal, holds, detail }: Row): string {
  const wanted = `floor ${floor}${goal === undefined ? '' : `, goal ${goal}`}`;
  return `${holds ? '√' : '×'} ${name.padEnd(48)} ${ratio.toFixed(2).padStart(6)}   ${wanted.padEnd(24)} ${detail}`;
}

/** The results as a page: what was measured, with which command, on which machine. */
export function report(rows: readonly Row[], machine: string): string {
  const cells = rows.map(
    ({ name, ratio, floor, goal, detail }) =>
      `| ${name} | ${ratio.toFixed(2)} | ${floor} | ${goal ?? ''} | ${detail} |`,
  );
  return `# Benchmarks

\`npm run bench -- --write\` measures all of this and writes this page and its picture; \`--check\` ends with 1 when a floor is missed,
\`--quick\` is shorter, \`--only=start|stream|webhook|sizes|burst\` measures a part. Everything is a ratio of two things measured in one
run, in turn, medians: on a noisy machine nothing else means anything. The last run was on ${machine}.

What we are measured against: \`node -e 0\`, which does nothing; yaml's bare \`parseDocument\`; and a bare \`node:https\` server that parses
the review, stringifies the same patch and decides nothing (\`bare-server.ts\`).

![results](results.svg)

| what | ratio | floor | goal | measured |
| --- | --- | --- | --- | --- |
${cells.join('\n')}

A rollout sends the replicas of a workload, which arrive byte for byte alike (seen on 1.36) but for the uid of the review: they are decided
once. "No two Pods alike" is the other extreme, and has no floor: every Pod is judged anew, which the bare server never does.

\`npm run soak -- --minutes 10\` keeps the webhook under load and ends with 1 when memory, open handles or the lag of the event loop are not
flat once it is warm:

![soak](soak.svg)
`;
}

const [width, left, right, barHeight, gap] = [880, 350, 120, 18, 10];
const most = 3;

/** The same as a picture: a bar for each ratio, and a mark where its floor is. */
export function picture(rows: readonly Row[], machine: string): string {
  const height = 60 + rows.length * (barHeight + gap);
  const scale = (width - left - right) / most;
  const bars = rows.map((row, index) => bar(row, 44 + index * (barHeight + gap), scale));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">
  <title>signet beside something bare</title>
  <rect width="${width}" height="${height}" fill="#ffffff"/>
  <text x="16" y="24" font-size="14" font-weight="bold" fill="#1f2933">signet beside something bare: ratios of medians, ${asXml(machine)}</text>
${bars.join('\n')}
</svg>
`;
}

function bar({ name, ratio, floor, holds, detail }: Row, y: number, scale: number): string {
  const shown = Math.min(ratio, most);
  const limit = Number(/[\d.]+/.exec(floor)?.[0] ?? Number.NaN);
  const mark =
    Number.isFinite(limit) && limit <= most
      ? `<line x1="${left + limit * scale}" x2="${left + limit * scale}" y1="${y - 3}" y2="${y + barHeight + 3}" stroke="#b42318" stroke-width="2"/>`
      : '';
  const label = `${ratio.toFixed(2)}${floor === 'none' ? '' : ` (${floor})`}`;
  return `  <g>
    <title>${asXml(`${name}: ${detail}`)}</title>
    <text x="${left - 10}" y="${y + 13}" text-anchor="end" fill="#1f2933">${asXml(name)}</text>
    <rect x="${left}" y="${y}" width="${Math.max(1, shown * scale).toFixed(1)}" height="${barHeight}" rx="2" fill="${holds ? '#2f6f9f' : '#b42318'}"/>
    ${mark}
    <text x="${width - 16}" y="${y + 13}" text-anchor="end" fill="#52606d">${asXml(label)}</text>
  </g>`;
}

function asXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
