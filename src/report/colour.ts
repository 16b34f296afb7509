/** The few looks that reports use, by their ANSI codes: on and off. */
const codes = {
  bold: [1, 22],
  cyan: [36, 39],
  dim: [2, 22],
  green: [32, 39],
  red: [31, 39],
  yellow: [33, 39],
} as const;

/** Colours text, or leaves it as it is. */
export type Paint = (look: keyof typeof codes, text: string) => string;

/** Makes a painter; whether there is a terminal that wants colour is for the caller to know. */
export function painter(isColoured: boolean): Paint {
  if (!isColoured) return (_look, text) => text;
  return (look, text) => `\u001b[${codes[look][0]}m${text}\u001b[${codes[look][1]}m`;
}
