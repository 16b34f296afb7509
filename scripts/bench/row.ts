/** One line of the results: a ratio, and what it must be. */
export interface Row {
  readonly name: string;
  readonly ratio: number;
  readonly floor: string;
  readonly goal?: string;
  readonly holds: boolean;
  readonly detail: string;
}

/** The middle one of some numbers. */
export function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
}
