import type { Namespace } from '../inject/decide/opt-in.js';
import { origins } from '../inject/origin.js';
import type { TemplateRow } from '../inject/workload.js';
import { Failure } from './failure.js';
import type { Given } from './flags.js';
import { documentsOf, type Input, openInputs } from './input.js';
import type { Terminal } from './terminal.js';
import { collectNamespaces, type Setting } from './transform.js';
import { meshFrom } from './values-input.js';

/** Reads everything that documents are judged by, Namespace objects anywhere in the input included. */
export async function settingFrom(given: Given, inputs: readonly Input[], terminal: Terminal): Promise<Setting> {
  const mesh = meshFrom(given, terminal);
  const origin = given.has('all') ? origins.cli : origins.webhook;
  const namespace = given.last('namespace') ?? (origin.needsOptIn ? 'default' : '');
  if (!/^([a-z\d]([a-z\d-]{0,61}[a-z\d])?)?$/.test(namespace))
    throw new Failure(`--namespace takes the name of a namespace; found ${JSON.stringify(namespace)}`);
  const namespaces = new Map<string, Namespace>();
  if (given.has('namespaces')) {
    for (const input of await openInputs(given.all('namespaces'))) {
      for (const chunk of documentsOf(input)) collectNamespaces(chunk, input.name, namespaces);
      input.close();
    }
    if (namespaces.size === 0) terminal.err('warning: there is no Namespace object in what --namespaces names\n');
  }
  if (origin.needsOptIn) for (const input of inputs) scan(input, namespaces);
  return { mesh, origin, namespace, namespaces, templates: given.all('template').map(templateRow) };
}

/** The first of two passes looks for Namespace objects alone; what is wrong with a document is for the second to say. */
function scan(input: Input, namespaces: Map<string, Namespace>): void {
  if (!mentionsNamespaces(input)) return;
  for (const chunk of documentsOf(input)) {
    if (!/kind["']?\s*:\s*["']?Namespace/.test(chunk.text)) continue;
    try {
      collectNamespaces(chunk, input.name, namespaces);
    } catch {
      // Told with its place in the second pass.
    }
  }
}

const word = Buffer.from('Namespace');

/** Most streams hold no Namespace object, and looking for the word takes a hundredth of the time of cutting them up. */
function mentionsNamespaces(input: Input): boolean {
  let tail = Buffer.alloc(0);
  for (const bytes of input.bytes()) {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const seam = Buffer.concat([tail, piece.subarray(0, word.length)]);
    if (piece.includes(word) || seam.includes(word)) return true;
    tail = Buffer.from(piece.subarray(-word.length));
  }
  return false;
}

/** `KIND=PATH` or `KIND.GROUP=PATH`; the path with dots, or as a JSON Pointer. */
export function templateRow(text: string): TemplateRow {
  const match = /^([A-Za-z]\w*)(?:\.([a-z\d.-]+))?=\/?([\w./-]+)$/.exec(text);
  const path = match?.[3]?.split(/[./]/) ?? [];
  if (match?.[1] === undefined || path.includes('')) {
    throw new Failure(
      `--template takes KIND=PATH, such as Rollout.argoproj.io=spec.template; found ${JSON.stringify(text)}`,
    );
  }
  return { kind: match[1], path, ...(match[2] === undefined ? {} : { group: match[2] }) };
}
