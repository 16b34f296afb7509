import { invalid, type Parsed, valid } from './parsers.js';

const suffixes: ReadonlyMap<string, readonly [base: bigint, exponent: number]> = new Map([
  ['', [10n, 0]],
  ['n', [10n, -9]],
  ['u', [10n, -6]],
  ['m', [10n, -3]],
  ['k', [10n, 3]],
  ['M', [10n, 6]],
  ['G', [10n, 9]],
  ['T', [10n, 12]],
  ['P', [10n, 15]],
  ['E', [10n, 18]],
  ['Ki', [2n, 10]],
  ['Mi', [2n, 20]],
  ['Gi', [2n, 30]],
  ['Ti', [2n, 40]],
  ['Pi', [2n, 50]],
  ['Ei', [2n, 60]],
]);

const expected = 'a Kubernetes quantity such as 100m, 0.5 or 64Mi';

/** A number as a fraction, exact whatever its suffix. */
export interface Quantity {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Reads a Kubernetes quantity: a decimal number and an SI, binary or exponent suffix. */
export function quantity(text: string): Parsed<Quantity> {
  const match = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)$/.exec(text);
  if (match === null) return invalid(expected);
  const [, sign = '', digits = '', power, suffix = ''] = match;
  const [whole = '', fraction = ''] = digits.split('.');
  const [base, exponent] = power === undefined ? (suffixes.get(suffix) ?? [10n, 0]) : [10n, Number(power)];
  const unsigned = BigInt(whole + fraction || '0');
  const scale = 10n ** BigInt(fraction.length);
  const factor = base ** BigInt(Math.abs(exponent));
  const numerator = (sign === '-' ? -unsigned : unsigned) * (exponent > 0 ? factor : 1n);
  return valid({ numerator, denominator: scale * (exponent < 0 ? factor : 1n) });
}

/** Whole cores, rounded away from zero, as Kubernetes' `RoundUp(0)` does. */
export function wholeCores({ numerator, denominator }: Quantity): Parsed<number> {
  const cut = numerator / denominator;
  const rounded = numerator % denominator === 0n ? cut : cut + (numerator < 0n ? -1n : 1n);
  const cores = Number(rounded);
  return Number.isSafeInteger(cores) ? valid(cores) : invalid('a number of cores that a machine could have');
}

/** Writes a quantity as Kubernetes prints it: no fraction, the largest suffix that allows it (`0.5` → `500m`). */
export function canonicalQuantity(text: string): string {
  const parsed = quantity(text);
  if (!parsed.ok) return text;
  const { numerator, denominator } = parsed.value;
  if (numerator === 0n) return '0';
  const binary = text.endsWith('i') && numerator % denominator === 0n;
  const candidates = [...suffixes].filter(([suffix]) => suffix === '' || suffix.endsWith('i') === binary);
  for (const [suffix, [base, exponent]] of candidates.sort(([, a], [, b]) => b[1] - a[1])) {
    const over = denominator * (exponent > 0 ? base ** BigInt(exponent) : 1n);
    const scaled = numerator * (exponent < 0 ? base ** BigInt(-exponent) : 1n);
    if (scaled % over === 0n) return `${scaled / over}${suffix}`;
  }
  return text;
}
