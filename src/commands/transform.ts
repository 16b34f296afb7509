import { bareNamespace, type Namespace } from '../inject/decide/opt-in.js';
import { isMeshed } from '../inject/decide/sidecars.js';
import { inject, type Verdict } from '../inject/inject.js';
import type { Mesh } from '../inject/mesh.js';
import { statusKey } from '../inject/names.js';
import type { Origin } from '../inject/origin.js';
import { withAdditions } from '../inject/patch.js';
import { hasRecord, uninject } from '../inject/uninject.js';
import { examine, flawOf, isList, type TemplateRow } from '../inject/workload.js';
import { entryOf, isArray, isObject, type Json, type JsonObject, objectAt, textAt } from '../json.js';
import { applyEdits } from '../manifest/edits.js';
import { insertionEdits, keptText } from '../manifest/insert.js';
import { errorAt } from '../manifest/locate.js';
import { type Manifest, parseManifest } from '../manifest/parse.js';
import { removalEdits } from '../manifest/remove.js';
import type { Chunk } from '../manifest/split.js';
import { styleOf } from '../manifest/style.js';

/** What documents are judged by. */
export interface Setting {
  readonly mesh: Mesh;
  readonly origin: Origin;
  readonly templates: readonly TemplateRow[];
  readonly namespaces: ReadonlyMap<string, Namespace>;
  /** Namespace of objects that name none. */
  readonly namespace: string;
}

/** One object of a document, where it is in it, and what is said of it. */
export interface Judged {
  readonly path: readonly string[];
  readonly namespace: string;
  readonly verdict: Verdict;
}

/** A document after injection. */
export interface Injected {
  readonly text: string;
  readonly manifest: Manifest;
  readonly judged: readonly Judged[];
}

interface Found {
  readonly path: readonly string[];
  readonly object: JsonObject;
}

/** Injects one document; what was injected before is taken out first, so that it comes up to date. */
export function injectDocument(chunk: Chunk, file: string, setting: Setting): Injected {
  const original = parseManifest(chunk.text, file, chunk.firstLine);
  const found = objectsIn(original);
  const mayBeStale = chunk.text.includes(statusKey) || !setting.origin.needsOptIn;
  const stale = mayBeStale ? found.filter(({ object }) => isStale(object, setting)) : [];
  const manifest = stale.length === 0 ? original : without(original, stale, setting.templates, true);
  const judged = (stale.length === 0 ? found : objectsIn(manifest)).map((one) => judge(manifest, one, setting));
  const edits = judged.flatMap(({ path, verdict }) => {
    if (verdict.additions.length === 0) return [];
    const template = verdict.subject.is === 'workload' ? verdict.subject.workload.path : [];
    const insertions =
      path.length === 0
        ? verdict.additions
        : verdict.additions.map((one) => ({ ...one, path: [...path, ...one.path] }));
    return insertionEdits(manifest, insertions, styleOf(manifest, [...path, ...template]));
  });
  if (edits.length === 0) return { text: manifest.text, manifest, judged };
  const text = applyEdits(manifest.text, edits);
  const isPlain =
    manifest.isSimple && edits.every(({ remove, insert }) => remove === 0 && !insert.includes('"replaced"'));
  if (!isPlain) prove(manifest, judged, text, setting);
  return { text, manifest, judged };
}

/**
 * YAML has more corners than anybody has thought of. Outside of plain block style the promise is checked each time: the text
 * reads as the patch has it, and leads back to the input. What does not is refused, never printed.
 */
function prove(manifest: Manifest, judged: readonly Judged[], text: string, { templates, mesh }: Setting): void {
  const additions = judged.flatMap(({ path, verdict }) =>
    verdict.additions.map((one) => ({ ...one, path: [...path, ...one.path] })),
  );
  const fail = () => {
    const first = judged.find(({ verdict }) => verdict.additions.length > 0);
    const name = first === undefined ? '' : `${nameOf(first.verdict)}: `;
    return errorAt(
      manifest,
      first?.path ?? [],
      `${name}nothing can be added to this layout without changing it; write the Pod template in plain block style`,
    );
  };
  let reads: Json;
  let back: string;
  try {
    reads = parseManifest(text, manifest.file).json;
    back = uninjectDocument({ text, firstLine: 0 }, manifest.file, templates, true).text;
  } catch {
    throw fail();
  }
  const leadsBack = !mesh.values.signet.record || back === manifest.text;
  if (!leadsBack || canonical(reads) !== canonical(withAdditions(manifest.json, additions))) throw fail();
}

/** JSON with its keys in order, so that two values can be compared. */
function canonical(json: Json): string {
  return JSON.stringify(json, (_key, value: Json) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
}

/** Takes out of one document what injection has added. */
export function uninjectDocument(
  chunk: Chunk,
  file: string,
  templates: readonly TemplateRow[],
  recordsOnly: boolean,
): { readonly text: string; readonly changed: number } {
  const manifest = parseManifest(chunk.text, file, chunk.firstLine);
  const changed = objectsIn(manifest).filter(
    ({ object }) => uninject(object, templates, { recordsOnly }).removals.length > 0,
  );
  return {
    text: changed.length === 0 ? chunk.text : without(manifest, changed, templates, false).text,
    changed: changed.length,
  };
}

/** True of a document in which signet has left a record. */
export function hasRecords(chunk: Chunk, file: string, templates: readonly TemplateRow[]): boolean {
  if (!chunk.text.includes(statusKey)) return false;
  return objectsIn(parseManifest(chunk.text, file, chunk.firstLine)).some(({ object }) => hasRecord(object, templates));
}

function without(
  manifest: Manifest,
  objects: readonly Found[],
  templates: readonly TemplateRow[],
  thorough: boolean,
): Manifest {
  const all = objects.map(({ path, object }) => {
    const { removals, restored } = uninject(object, templates, { thorough });
    return {
      removals: removals.map((one) => [...path, ...one]),
      restored: restored.map((one) => ({ ...one, path: [...path, ...one.path] })),
    };
  });
  const edits = removalEdits(manifest, {
    removals: all.flatMap((one) => one.removals),
    restored: all.flatMap((one) => one.restored),
  });
  return parseManifest(applyEdits(manifest.text, edits), manifest.file, manifest.firstLine);
}

/** Ours by its record; with `--all` also whatever has a Linkerd proxy, because Linkerd's command takes that out first. */
function isStale(object: JsonObject, { origin, templates, mesh }: Setting): boolean {
  if (hasRecord(object, templates)) return true;
  const subject = examine(object, templates);
  return !origin.needsOptIn && subject.is === 'workload' && isMeshed(subject.workload, mesh.values);
}

/** The Kubernetes objects of a document: itself, or the items of a list, however deep. */
function objectsIn(manifest: Manifest): readonly Found[] {
  const { json } = manifest;
  if (json === null) return [];
  if (!isObject(json)) throw errorAt(manifest, [], 'expected a Kubernetes object, which is a map');
  return itemsOf(manifest, [], json);
}

function itemsOf(manifest: Manifest, path: readonly string[], object: JsonObject): readonly Found[] {
  if (textAt(object, 'kind') === undefined) {
    if (Object.keys(object).length === 0) return [];
    throw errorAt(manifest, path, 'this is no Kubernetes object: it has no kind');
  }
  if (!isList(object)) return [{ path, object }];
  const items = object.items ?? [];
  if (!isArray(items)) throw errorAt(manifest, [...path, 'items'], 'the items of a list must be a list');
  return items.flatMap((item, index) =>
    isObject(item) ? itemsOf(manifest, [...path, 'items', String(index)], item) : [],
  );
}

function judge(manifest: Manifest, { path, object }: Found, setting: Setting): Judged {
  const { mesh, origin, templates } = setting;
  const namespace = textAt(objectAt(object, 'metadata'), 'namespace') || setting.namespace;
  const kept = (where: readonly string[]) => keptText(manifest, [...path, ...where]);
  const known = setting.namespaces.get(namespace) ?? bareNamespace(namespace);
  const verdict = inject(mesh, { object, namespace: known, origin, templates, kept });
  const { subject } = verdict;
  if (subject.is === 'other' && subject.missing !== undefined) {
    throw errorAt(
      manifest,
      [...path, ...subject.missing],
      `${nameOf(verdict)}: there is no Pod template at ${subject.missing.join('.')}`,
    );
  }
  if (subject.is === 'workload') {
    const flaw = flawOf(subject.workload);
    if (flaw !== undefined) throw errorAt(manifest, [...path, ...flaw.path], `${nameOf(verdict)}: ${flaw.message}`);
  }
  return { path, namespace, verdict };
}

/** `kind/name`, as kubectl writes it. */
export function nameOf({ subject }: Verdict): string {
  const { kind, name } = subject.is === 'workload' ? subject.workload : subject;
  return `${kind.toLowerCase()}/${name || '(no name)'}`;
}

/** Remembers the Namespace objects of a document, for the workloads of this document and all others. */
export function collectNamespaces(chunk: Chunk, file: string, into: Map<string, Namespace>): void {
  const manifest = parseManifest(chunk.text, file, chunk.firstLine);
  for (const { object } of objectsIn(manifest)) {
    const name = entryOf(objectAt(object, 'metadata'), 'name');
    if (textAt(object, 'kind')?.toLowerCase() !== 'namespace' || name === undefined) continue;
    const metadata = objectAt(object, 'metadata');
    into.set(name, { name, labels: objectAt(metadata, 'labels'), annotations: objectAt(metadata, 'annotations') });
  }
}
