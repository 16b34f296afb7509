/** A piece of a template: text as it stands, a name that a Pod fills in, or one of its labels. */
export type Piece =
  | { readonly text: string }
  | { readonly field: (typeof fields)[number] }
  | { readonly label: string };

export type Template = readonly Piece[];

/** What a template can refer to, beside `label "key"`; the names are those of Kuma's MeshIdentity. */
export const fields = ['Namespace', 'ServiceAccount', 'TrustDomain', 'Workload'] as const;

/** What is wrong with a template. */
export interface NoTemplate {
  readonly flaw: string;
}

const action = /\{\{\s*(?:\.(\w+)|label\s+(?:"([^"{}]*)"|`([^`{}]*)`))\s*\}\}/y;

/** Reads a template: the two kinds of action that an ID needs, in Go's notation. */
export function readTemplate(text: string): Template | NoTemplate {
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf('{{', at);
    const end = open < 0 ? text.length : open;
    if (end > at) pieces.push({ text: text.slice(at, end) });
    if (open < 0) break;
    action.lastIndex = open;
    const found = action.exec(text);
    if (found === null) return { flaw: `cannot read ${JSON.stringify(text.slice(open, open + 40))}` };
    const field = fields.find((one) => one === found[1]);
    const label = found[2] ?? found[3];
    if (label !== undefined) pieces.push({ label });
    else if (field !== undefined) pieces.push({ field });
    else return { flaw: `there is no .${found[1]}` };
    at = action.lastIndex;
  }
  return pieces;
}

/** Tells a template from what is wrong with one. */
export function isTemplate(read: Template | NoTemplate): read is Template {
  return !('flaw' in read);
}
