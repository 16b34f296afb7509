/** Lays rows out in columns that are as wide as their widest cell; the last one is left ragged. */
export function columns(rows: readonly (readonly string[])[], gap = '  '): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
      .join(gap)
      .trimEnd(),
  );
}

/** A value on one line, cut where it gets long. */
export function brief(value: unknown, longest = 60): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return '""';
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}
