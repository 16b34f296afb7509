/** One change of a text: so many characters go, others come. */
export interface Edit {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
  /** Of several insertions at one place, the deeper one comes first: it belongs to what stands before. */
  readonly depth: number;
}

/** Puts edits into the order of the text. */
export function inOrder(edits: readonly Edit[]): readonly Edit[] {
  return [...edits].sort((a, b) => a.at - b.at || b.depth - a.depth);
}

/** Applies edits, none of which may overlap another. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = '';
  let from = 0;
  for (const { at, remove, insert } of inOrder(edits)) {
    result += text.slice(from, at) + insert;
    from = Math.max(from, at + remove);
  }
  return result + text.slice(from);
}

/** The offset at which the line of an offset begins. */
export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** The start of the line after an offset; the end of the text when there is none. */
export function nextLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end + 1;
}

/** True when nothing but blanks stands between the start of the line and an offset. */
export function isFirstOnLine(text: string, offset: number): boolean {
  return /^[ \t\ufeff]*$/.test(text.slice(lineStart(text, offset), offset));
}
