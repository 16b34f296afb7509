import { invalid, type Parsed, valid } from './parsers.js';

/** Nanoseconds of each unit. Both micro signs exist: U+00B5 and U+03BC. */
const units: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);

const expected = 'a duration such as 300ms, 1.5h or 2m3s';
const longest = 2n ** 63n - 1n;

/** Reads a Go duration into nanoseconds: `1.5h`, `2m3s`, `-300ms`, a bare `0`; a bare number otherwise has no unit. */
export function duration(text: string): Parsed<bigint> {
  const sign = text.startsWith('-') ? -1n : 1n;
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  if (body === '0') return valid(0n);
  if (!/^(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*$/.test(body))
    return invalid(expected);
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of body.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const size = units.get(unit) ?? 0n;
    total += BigInt(whole || '0') * size;
    if (fraction !== '') total += BigInt(Math.trunc(Number(`0.${fraction}`) * Number(size)));
    if (total > longest) return invalid(expected);
  }
  return valid(sign * total);
}

/**
 * Seconds as Go's `Duration.Seconds` gives them. Linkerd multiplies this double and cuts it off, so 1001ms comes out as
 * 1000ms there; the same formula gives the same result here.
 */
export function seconds(nanoseconds: bigint): number {
  const second = 1_000_000_000n;
  return Number(nanoseconds / second) + Number(nanoseconds % second) / 1e9;
}

/** A duration as whole milliseconds, the way the proxy reads it. */
export function milliseconds(nanoseconds: bigint): string {
  return `${plain(Math.trunc(seconds(nanoseconds) * 1000))}ms`;
}

/** A duration as whole seconds, the way the proxy reads it. */
export function wholeSeconds(nanoseconds: bigint): string {
  return `${plain(Math.trunc(seconds(nanoseconds)))}s`;
}

/** No exponent and no minus before a zero. */
function plain(number: number): string {
  return String(BigInt(number));
}
