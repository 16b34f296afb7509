import { styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];

/** Colours text, or leaves it as it is. */
export type Paint = (format: Format, text: string) => string;

/** Node 20 colours whatever it is told to; whether it should is decided by the caller. */
export function painter(isColoured: boolean): Paint {
  return isColoured ? (format, text) => styleText(format, text) : (_format, text) => text;
}
