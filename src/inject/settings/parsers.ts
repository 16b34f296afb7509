/** What came of reading a text: a value, or what was expected instead. */
export type Parsed<T> = Valid<T> | Invalid;

export interface Valid<T> {
  readonly ok: true;
  readonly value: T;
  /** Parts of the text that were left out, where a list can be read in part. */
  readonly unread?: string;
}

export interface Invalid {
  readonly ok: false;
  readonly expected: string;
  /** Linkerd refuses the Pod for this one, where it ignores most others. */
  readonly fatal?: true;
}

/** A value that was read, and what of the text was not. */
export function valid<T>(value: T, unread = ''): Parsed<T> {
  return unread === '' ? { ok: true, value } : { ok: true, value, unread };
}

/** A text that could not be read. */
export function invalid(expected: string): Invalid {
  return { ok: false, expected };
}

/** A decimal integer within bounds, sign allowed, as Go's `strconv.ParseInt` reads it. */
export function integer(text: string, lowest: number, highest: number): Parsed<number> {
  const number = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  return number >= lowest && number <= highest
    ? valid(number === 0 ? 0 : number)
    : invalid(lowest === Number.MIN_SAFE_INTEGER ? 'a whole number' : `a whole number from ${lowest} to ${highest}`);
}

/** A whole number of 32 bits; Linkerd checks no port range either. */
export function int32(text: string): Parsed<number> {
  return integer(text, -(2 ** 31), 2 ** 31 - 1);
}

/** An int64; a double holds no more than 2⁵³ of it exactly, and no user or group id is larger than 2³¹. */
export function int64(text: string): Parsed<number> {
  return integer(text, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
}

/** A count: no sign at all, as Go's `strconv.ParseUint` has it. */
export function count(text: string): Parsed<number> {
  return /^\d+$/.test(text) ? integer(text, 0, Number.MAX_SAFE_INTEGER) : invalid('a whole number, not negative');
}

const trues = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const falses = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/** The spellings of Go's `strconv.ParseBool`. */
export function bool(text: string): Parsed<boolean> {
  if (trues.includes(text)) return valid(true);
  return falses.includes(text) ? valid(false) : invalid('true or false');
}

/** The two words of a switch. */
export function onOff(text: string): Parsed<boolean> {
  if (text === 'enabled') return valid(true);
  return text === 'disabled' ? valid(false) : invalid('enabled or disabled');
}

/** A parser for one word out of a list. */
export function oneOf<const W extends string>(words: readonly W[]): (text: string) => Parsed<W> {
  return (text) => {
    const word = words.find((one) => one === text);
    return word === undefined ? invalid(`one of ${words.join(', ')}`) : valid(word);
  };
}

/** Any text at all. */
export function anyText(text: string): Parsed<string> {
  return valid(text);
}

/** A share strictly between none and all. */
export function ratio(text: string): Parsed<number> {
  const number = /^[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return number > 0 && number < 1 ? valid(number) : invalid('a number between 0 and 1, both excluded');
}
