import type { Addition } from '../inject/additions.js';
import { isArray, isObject, type Json, type JsonObject, pointer } from '../json.js';

/** A part of a patch that many Pods share, written and encoded once. */
export interface Kept {
  readonly text: string;
  readonly base64: string;
}

/** What a patch is made of: text for this one Pod, and parts that were written before. */
export type Piece = string | Kept;

/** Shorter parts are encoded together with what stands around them: a piece of its own costs a microsecond. */
const worthKeeping = 1000;

const known = new WeakMap<object, Kept>();

/**
 * The JSON Patch, in pieces. What is frozen comes as the same object again and again, and is written once; what is not is made for
 * this one Pod, of parts that may be frozen.
 */
export function patchPieces(additions: readonly Addition[]): readonly Piece[] {
  const writer = new Writer();
  for (const [index, { path, value }] of additions.entries()) {
    writer.text += `${index === 0 ? '[' : ','}{"op":"add","path":${JSON.stringify(pointer(path))},"value":`;
    writer.write(value);
    writer.text += '}';
  }
  writer.text += ']';
  return [...writer.pieces, writer.text];
}

class Writer {
  readonly pieces: Piece[] = [];
  text = '';

  write(value: Json): void {
    if (!isObject(value) && !isArray(value)) this.text += JSON.stringify(value);
    else if (Object.isFrozen(value)) this.#frozen(value);
    else if (isArray(value)) this.#list(value);
    else this.#map(value);
  }

  #frozen(value: object): void {
    const kept = known.get(value) ?? keep(JSON.stringify(value));
    known.set(value, kept);
    if (kept.text.length < worthKeeping) this.text += kept.text;
    else {
      this.pieces.push(this.text, kept);
      this.text = '';
    }
  }

  #list(list: readonly Json[]): void {
    let before = '[';
    for (const item of list) {
      this.text += before;
      this.write(item);
      before = ',';
    }
    this.text += list.length === 0 ? '[]' : ']';
  }

  #map(map: JsonObject): void {
    let before = '{';
    for (const [key, value] of Object.entries(map)) {
      this.text += `${before}${JSON.stringify(key)}:`;
      this.write(value);
      before = ',';
    }
    this.text += before === '{' ? '{}' : '}';
  }
}

/** Writes a part once and for all. */
export function keep(text: string): Kept {
  return { text, base64: encode(text) };
}

/** A patch as it is sent. Pieces end between two tokens of JSON, where blanks mean nothing. */
export function base64Of(pieces: readonly Piece[]): string {
  let text = '';
  for (const piece of pieces) text += typeof piece === 'string' ? encode(piece) : piece.base64;
  return text;
}

/** Base64 takes three bytes at a time: filled up with blanks, each piece is encoded by itself. */
function encode(text: string): string {
  const over = Buffer.byteLength(text) % 3;
  return Buffer.from(over === 0 ? text : text + (over === 1 ? '  ' : ' ')).toString('base64');
}
