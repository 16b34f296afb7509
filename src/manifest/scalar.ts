import type { Json } from '../json.js';

const words: ReadonlyMap<string, Json> = new Map<string, Json>([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
]);

const float = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/;

/**
 * Reads a plain scalar as Kubernetes' decoder does (go-yaml 2): the booleans, octals and underscores of YAML 1.1, but
 * dates and sexagesimals (`12:30`) stay text.
 */
export function readPlain(source: string): Json {
  const first = source.charCodeAt(0);
  const isDigitOrSign = first >= 43 && first <= 57; // + , - . / 0 … 9
  if (isDigitOrSign) return readNumber(source) ?? source;
  return words.has(source) ? (words.get(source) ?? null) : source;
}

function readNumber(source: string): number | undefined {
  const plain = source.includes('_') ? source.replaceAll('_', '') : source;
  const match = /^([-+]?)(0x[\da-fA-F]+|0o?[0-7]+|0b[01]+|\d+)$/.exec(plain);
  if (match === null) return float.test(plain) ? finite(Number(plain)) : undefined;
  const digits = match[2] ?? '';
  const octal = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  const magnitude = finite(Number(octal));
  return magnitude !== undefined && match[1] === '-' ? -magnitude : magnitude;
}

function finite(number: number): number | undefined {
  return Number.isFinite(number) ? number : undefined;
}

/** Text that one reader or another takes for something else: YAML 1.1 knows dates and base-60 numbers. */
const misread = new RegExp(
  [
    /^\d{4}-\d\d?-\d\d?/, // date
    /^[-+]?\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?$/, // base 60
    /^[-+]?[\d_]*\.?[\d_]*(e[-+]?\d+)?$/, // float, with every digit optional
    /^[-+]?\.(inf|nan)$/i,
    /^(<<|=)$/,
  ]
    .map((one) => one.source)
    .join('|'),
  'i',
);

/** Characters that need no quotes anywhere in a plain scalar of a block; brackets only once it has begun. */
const plainText = /^(?:[A-Za-z0-9_./$+~(^]|-(?=[^\s]))(?:[\w./$%@+~()^;=?*|<>!&,{}[\]-]|:(?=\S)| (?=[^\s#]))*$/;

/** Writes a string so that every YAML reader gets the same string back. */
export function writeScalar(value: string): string {
  if (isPlain(value)) return value;
  const readsBetterInSingleQuotes = /["\\]/.test(value) && /^[\x20-\x7e\u00a1-\u2027\u202a-\ud7ff]*$/.test(value);
  return readsBetterInSingleQuotes ? `'${value.replaceAll("'", "''")}'` : writeQuoted(value);
}

function isPlain(value: string): boolean {
  return value.length < 1024 && plainText.test(value) && !misread.test(value) && readPlain(value) === value;
}

/** JSON's string is YAML's too, once the characters are escaped that YAML does not allow bare. */
export function writeQuoted(value: string): string {
  return JSON.stringify(value).replaceAll(
    /[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
