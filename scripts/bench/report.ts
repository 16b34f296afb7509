import type { Row } from './row.js';

/** One row for a terminal. */
export function line({ name, ratio, floor, goal, holds, detail }: Row): string {
  const wanted = `floor ${floor}${goal === undefined ? '' : `, goal ${goal}`}`;
  return `${holds ? '√' : '×'} ${name.padEnd(48)} ${ratio.toFixed(2).padStart(6)}   ${wanted.padEnd(24)} ${detail}`;
}

/** What others cost, an admission, measured together on one machine with two cores (Node 20, Go 1.26) on 18 November 2026. */
const peers: readonly (readonly [who: string, micros: string])[] = [
  ["Linkerd's proxy-injector, which renders a Helm chart for each Pod", '23 000'],
  ["Istio's handler, by its own benchmark", '18 000'],
  ['the webhook of AWS for Pod identities, with a patch of a fifth of the size', '554'],
  ['bare `node:https` that parses the review and stringifies the patch', '350'],
];

/** Which command measures a row. */
const parts: readonly (readonly [pattern: RegExp, part: string])[] = [
  [/node -e 0/, 'start'],
  [/parseDocument|^memory,/, 'stream'],
  [/connections:/, 'webhook'],
  [/burst/, 'burst'],
  [/./, 'sizes'],
];

/** The results as a page: what was measured, with which command, on which machine. */
export function report(rows: readonly Row[], machine: string): string {
  const cells = rows.map(({ name, ratio, floor, goal, detail }) => {
    const part = parts.find(([pattern]) => pattern.test(name))?.[1] ?? '';
    return `| ${name} | ${ratio.toFixed(2)} | ${floor} | ${goal ?? ''} | ${detail} | \`--only=${part}\` |`;
  });
  return `# Benchmarks

\`npm run bench -- --write\` measures all of this and writes this page and its picture; \`--check\` ends with 1 when a floor is missed,
\`--quick\` is shorter, \`--only=start|stream|webhook|sizes|burst\` measures a part. Everything is a ratio of two things measured in one
run, in turn, medians: on a noisy machine nothing else means anything. The last run was on ${machine}.

What we are measured against: \`node -e 0\`, which does nothing; yaml's bare \`parseDocument\`; and a bare \`node:https\` server that parses
the review, stringifies the same patch and decides nothing (\`bare-server.ts\`). Ours is the webhook as it is installed, beside an API
server that is faked: a cache of namespaces that have all opted in, the trust roots in each, Events, metrics, a log that is written.
Reviews are as a 1.36 API server sends them, 6 KB each, and every answer that is counted carries a patch.

![results](results.svg)

| what | ratio | floor | goal | measured | part |
| --- | --- | --- | --- | --- | --- |
${cells.join('\n')}

A rollout sends the replicas of a workload. They differ in the uid of the review and in the name of the volume of their token, which the
API server makes up for each; with both set aside they are the same question, and are decided once. "No two Pods alike" is the other
extreme: every Pod is judged anew, which the bare server never does. Its limits are what was reached, with room for noise.

What others cost, measured on another day on such a machine:

| injector | µs of CPU an admission |
| --- | --- |
${peers.map(([who, micros]) => `| ${who} | ${micros} |`).join('\n')}

\`npm run soak -- --minutes 10\` keeps the webhook under load and ends with 1 when memory, open handles or the lag of the event loop are not
flat once it is warm:

![soak](soak.svg)
`;
}

const [width, left, right, barHeight, gap] = [900, 350, 150, 18, 10];
const most = 2.5;

/** The same as a picture. Every bar is drawn against its own floor, so that one line stands for all of them. */
export function picture(rows: readonly Row[], machine: string): string {
  const groups = [
    { title: 'more is better: the bar should pass the line', rows: rows.filter(({ floor }) => floor.startsWith('≥')) },
    {
      title: 'less is better: the bar should end before the line',
      rows: rows.filter(({ floor }) => !floor.startsWith('≥')),
    },
  ];
  const scale = (width - left - right) / most;
  let y = 56;
  const drawn = groups.map((group) => {
    const top = y;
    y += 22;
    const bars = group.rows.map((row) => {
      const text = bar(row, y, scale);
      y += barHeight + gap;
      return text;
    });
    const line = `  <line x1="${left + scale}" x2="${left + scale}" y1="${top + 18}" y2="${y - 4}" stroke="#b42318" stroke-width="2"/>`;
    y += 14;
    return [
      `  <text x="${left}" y="${top + 12}" font-style="italic" fill="#52606d">${group.title}</text>`,
      ...bars,
      line,
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" font-family="system-ui, sans-serif" font-size="12">
  <title>signet beside something bare</title>
  <rect width="${width}" height="${y}" fill="#ffffff"/>
  <text x="16" y="24" font-size="14" font-weight="bold" fill="#1f2933">signet beside something bare: ratios of medians, each against its floor (the red line)</text>
  <text x="16" y="42" fill="#52606d">${asXml(machine)}</text>
${drawn.join('\n')}
</svg>
`;
}

function bar({ name, ratio, floor, holds, detail }: Row, y: number, scale: number): string {
  const limit = Number(/[\d.]+/.exec(floor)?.[0] ?? 1) || 1;
  const shown = Math.min(ratio / limit, most);
  return `  <g>
    <title>${asXml(`${name}: ${detail}`)}</title>
    <text x="${left - 10}" y="${y + 13}" text-anchor="end" fill="#1f2933">${asXml(name)}</text>
    <rect x="${left}" y="${y}" width="${Math.max(1, shown * scale).toFixed(1)}" height="${barHeight}" rx="2" fill="${holds ? '#2f6f9f' : '#b42318'}"/>
    <text x="${width - 16}" y="${y + 13}" text-anchor="end" fill="#52606d">${asXml(`${ratio.toFixed(2)} (${floor})`)}</text>
  </g>`;
}

function asXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
