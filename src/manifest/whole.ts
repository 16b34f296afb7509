import type { Json } from '../json.js';
import { isArray, isObject } from '../json.js';
import { blockItem, blockMap, flowValue } from './emit.js';
import { writeScalar } from './scalar.js';

const style = { eol: '\n', step: 2, dash: 0 };

/** Writes a value as a YAML document of its own, the way kubectl does. */
export function writeYaml(value: Json): string {
  if (isObject(value) && Object.keys(value).length > 0) return blockMap(value, 0, style);
  if (isArray(value) && value.length > 0) return value.map((one) => blockItem(one, 0, style)).join('');
  return typeof value === 'string' ? `${writeScalar(value)}\n` : `${JSON.stringify(value)}\n`;
}

/** Writes a value as indented JSON. */
export function writeJson(value: Json): string {
  return `${flowValue(value, 0, { eol: '\n', step: 2, blank: ' ' })}\n`;
}
