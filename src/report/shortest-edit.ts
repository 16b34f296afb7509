/** A line of both texts, of the old one alone, or of the new one alone. */
export interface Step {
  readonly sign: ' ' | '-' | '+';
  readonly line: string;
}

/** Beyond so many changed lines the shortest script is not looked for: everything between the common ends is replaced. */
const mostChanges = 5000;

/** The steps from one list of lines to another. What is the same at both ends is taken off before comparing. */
export function stepsBetween(before: readonly string[], after: readonly string[]): Step[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const same = (lines: readonly string[]): Step[] => lines.map((line) => ({ sign: ' ', line }));
  const middle = [before.slice(start, before.length - end), after.slice(start, after.length - end)] as const;
  return [
    ...same(before.slice(0, start)),
    ...(insertionsOnly(...middle) ?? shortest(...middle)),
    ...same(before.slice(before.length - end)),
  ];
}

/** The steps when lines were only inserted, which injection mostly does; found in one walk over both. */
function insertionsOnly(before: readonly string[], after: readonly string[]): Step[] | undefined {
  let old = 0;
  const steps = after.map((line): Step => {
    if (line !== before[old]) return { sign: '+', line };
    old++;
    return { sign: ' ', line };
  });
  return old === before.length ? steps : undefined;
}

/**
 * Myers' algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986): for each number of changes the furthest
 * point on every diagonal, until both ends are reached, and then the way back.
 */
function shortest(before: readonly string[], after: readonly string[]): Step[] {
  const most = Math.min(before.length + after.length, mostChanges);
  const middle = most + 1;
  const furthest = new Int32Array(2 * most + 3);
  const trail: Int32Array[] = [];
  for (let changes = 0; changes <= most; changes++) {
    trail.push(furthest.slice(middle - changes - 1, middle + changes + 2));
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      const at = middle + diagonal;
      let x = goesDown(furthest, at, diagonal, changes) ? (furthest[at + 1] ?? 0) : (furthest[at - 1] ?? 0) + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x++;
      furthest[at] = x;
      if (x >= before.length && x - diagonal >= after.length) return wayBack(before, after, trail);
    }
  }
  return [
    ...before.map((line) => ({ sign: '-', line }) as const),
    ...after.map((line) => ({ sign: '+', line }) as const),
  ];
}

function goesDown(furthest: Int32Array, at: number, diagonal: number, changes: number): boolean {
  return diagonal === -changes || (diagonal !== changes && (furthest[at - 1] ?? 0) < (furthest[at + 1] ?? 0));
}

function wayBack(before: readonly string[], after: readonly string[], trail: readonly Int32Array[]): Step[] {
  const steps: Step[] = [];
  let x = before.length;
  let y = after.length;
  for (let changes = trail.length - 1; changes >= 0; changes--) {
    const furthest = trail[changes] ?? new Int32Array();
    const diagonal = x - y;
    const at = diagonal + changes + 1;
    const down = goesDown(furthest, at, diagonal, changes);
    const fromX = changes === 0 ? 0 : ((down ? furthest[at + 1] : furthest[at - 1]) ?? 0);
    const fromY = changes === 0 ? 0 : fromX - (down ? diagonal + 1 : diagonal - 1);
    for (; x > fromX && y > fromY && before[x - 1] === after[y - 1]; x--, y--)
      steps.push({ sign: ' ', line: before[x - 1] ?? '' });
    if (changes === 0) break;
    steps.push(down ? { sign: '+', line: after[y - 1] ?? '' } : { sign: '-', line: before[x - 1] ?? '' });
    x = fromX;
    y = fromY;
  }
  return steps.reverse();
}
