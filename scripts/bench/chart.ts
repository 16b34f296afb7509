/** A line of a chart: minutes, and what was measured. */
export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
}

const [width, panel, left, right] = [860, 110, 60, 20];

/** Lines over time, each with a scale of its own that begins at zero, so that flat looks flat. */
export function chart(title: string, lines: readonly Line[]): string {
  const height = 44 + lines.length * (panel + 34);
  const panels = lines.map((line, index) => panelOf(line, 54 + index * (panel + 34)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">
  <title>${title}</title>
  <rect width="${width}" height="${height}" fill="#ffffff"/>
  <text x="16" y="24" font-size="14" font-weight="bold" fill="#1f2933">${title}</text>
${panels.join('\n')}
</svg>
`;
}

function panelOf({ name, points }: Line, top: number): string {
  const most = Math.max(...points.map(([, value]) => value), 1e-9);
  const end = Math.max(...points.map(([minute]) => minute), 1e-9);
  const x = (minute: number) => (left + (minute / end) * (width - left - right)).toFixed(1);
  const y = (value: number) => (top + panel - (value / most) * panel).toFixed(1);
  const path = points.map(([minute, value], index) => `${index === 0 ? 'M' : 'L'}${x(minute)} ${y(value)}`).join(' ');
  return `  <g>
    <text x="${left}" y="${top - 6}" fill="#52606d">${name}</text>
    <line x1="${left}" x2="${width - right}" y1="${top + panel}" y2="${top + panel}" stroke="#cbd2d9"/>
    <text x="${left - 8}" y="${top + 10}" text-anchor="end" fill="#52606d">${most < 10 ? most.toFixed(1) : most.toFixed(0)}</text>
    <text x="${left - 8}" y="${top + panel}" text-anchor="end" fill="#52606d">0</text>
    <text x="${width - right}" y="${top + panel + 16}" text-anchor="end" fill="#52606d">${end.toFixed(0)} min</text>
    <path d="${path}" fill="none" stroke="#2f6f9f" stroke-width="1.5"/>
  </g>`;
}
