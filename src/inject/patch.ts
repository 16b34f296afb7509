import { type Json, pointer } from '../json.js';
import type { Addition } from './additions.js';

/** One operation of a JSON Patch; signet makes no other kind. */
export interface AddOperation {
  readonly op: 'add';
  readonly path: string;
  readonly value: Json;
}

/** The additions as the JSON Patch (RFC 6902) that the API server applies. */
export function patchOf(additions: readonly Addition[]): AddOperation[] {
  return additions.map(({ path, value }) => ({ op: 'add', path: pointer(path), value }));
}
