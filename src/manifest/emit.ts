import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import { writeQuoted, writeScalar } from './scalar.js';
import type { Style } from './style.js';

/** Texts of objects that come again and again (containers, volumes: what is frozen), by where and how they were written. */
const written = new WeakMap<object, Map<string, string>>();

/** Writes `key: value` as lines of block YAML, each with its line end. */
export function blockEntry(key: string, value: Json, indent: number, style: Style): string {
  return `${pad(indent)}${writeScalar(key)}:${blockValue(value, indent, style)}`;
}

/** Writes `- value` as lines of block YAML; the same object at the same place is written once. */
export function blockItem(value: Json, indent: number, style: Style): string {
  if (!isObject(value) || !Object.isFrozen(value)) return makeItem(value, indent, style);
  const where = `${indent} ${style.step} ${style.dash} ${style.eol}`;
  const texts = written.get(value) ?? new Map<string, string>();
  const known = texts.get(where);
  if (known !== undefined) return known;
  const made = makeItem(value, indent, style);
  texts.set(where, made);
  written.set(value, texts);
  return made;
}

function makeItem(value: Json, indent: number, style: Style): string {
  if (isObject(value) && Object.keys(value).length > 0) {
    return `${pad(indent)}- ${blockMap(value, indent + 2, style).slice(indent + 2)}`;
  }
  if (isArray(value) && value.length > 0) {
    return `${pad(indent)}- ${value
      .map((one) => makeItem(one, indent + 2, style))
      .join('')
      .slice(indent + 2)}`;
  }
  return `${pad(indent)}-${blockValue(value, indent, style)}`;
}

/** Writes a whole map as lines. */
export function blockMap(map: JsonObject, indent: number, style: Style): string {
  let text = '';
  for (const [key, value] of Object.entries(map)) text += blockEntry(key, value, indent, style);
  return text;
}

function blockValue(value: Json, indent: number, style: Style): string {
  const { eol } = style;
  if (isObject(value))
    return Object.keys(value).length === 0 ? ` {}${eol}` : `${eol}${blockMap(value, indent + style.step, style)}`;
  if (isArray(value))
    return value.length === 0
      ? ` []${eol}`
      : `${eol}${value.map((one) => blockItem(one, indent + style.dash, style)).join('')}`;
  if (typeof value !== 'string') return ` ${value}${eol}`;
  return isLiteral(value) ? literal(value, indent + style.step, eol) : ` ${writeScalar(value)}${eol}`;
}

/** Text of several lines that a literal block (`|`) holds exactly: it ends in one line end and has no odd white space. */
function isLiteral(value: string): boolean {
  return (
    /^[^\s\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff][^\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff]*[^\s]\n$/.test(
      value,
    ) && !/[ \t]\n|\n[ \t]/.test(value)
  );
}

function literal(value: string, indent: number, eol: string): string {
  const lines = value.slice(0, -1).split('\n');
  return ` |${eol}${lines.map((line) => `${line === '' ? '' : pad(indent) + line}${eol}`).join('')}`;
}

/** How a flow collection (which JSON is) is written: on one line, or over several with an indentation. */
export interface FlowStyle {
  readonly eol: string;
  /** Columns by which each level is indented; none at all: everything on one line. */
  readonly step: number | undefined;
  /** The blank after a colon or comma, which minified JSON leaves out. */
  readonly blank: '' | ' ';
}

/** Writes a value as JSON, the way its surroundings are written. */
export function flowValue(value: Json, indent: number, style: FlowStyle): string {
  if (isArray(value))
    return flowList(
      value.map((one) => flowValue(one, indent + (style.step ?? 0), style)),
      '[',
      ']',
      indent,
      style,
    );
  if (!isObject(value)) return typeof value === 'string' ? writeQuoted(value) : String(value);
  const entries = Object.entries(value).map(([key, child]) => flowEntry(key, child, indent + (style.step ?? 0), style));
  return flowList(entries, '{', '}', indent, style);
}

/** Writes `"key": value`. */
export function flowEntry(key: string, value: Json, indent: number, style: FlowStyle): string {
  return `${writeQuoted(key)}:${style.blank}${flowValue(value, indent, style)}`;
}

function flowList(items: readonly string[], open: string, close: string, indent: number, style: FlowStyle): string {
  if (items.length === 0) return open + close;
  if (style.step === undefined) return open + items.join(`,${style.blank}`) + close;
  const inner = style.eol + pad(indent + style.step);
  return `${open}${inner}${items.join(`,${inner}`)}${style.eol}${pad(indent)}${close}`;
}

/** So many blanks. */
export function pad(columns: number): string {
  return ' '.repeat(columns);
}
