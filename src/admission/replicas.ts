import type { Namespace } from '../inject/decide/opt-in.js';
import type { Mesh } from '../inject/mesh.js';
import type { Admission } from './admit.js';
import { type Kept, keep, type Piece } from './patch-text.js';
import type { Review } from './review.js';

/** How the API server begins every review it sends; whoever writes it otherwise is simply not remembered. */
const beginning = '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"';
const uidLength = 36;
const isUid = /^[\da-f-]{36}$/;

/** How the ServiceAccount plugin names the volume of the token: the end is made up for each Pod. */
const volumePrefix = 'kube-api-access-';
const volumeLength = volumePrefix.length + 5;
const isVolume = /^"kube-api-access-[a-z\d]{5}"$/;
/** Stands for that name in a question. JSON cannot hold it, so no other text can look like it. */
const mask = '\0';

/** Reviews over this size are not worth the room: a Pod of 64 KiB comes alone. */
const largest = 64 * 1024;
/** All that is kept together, in characters: some hundred workloads, and little beside what Node itself needs. */
const budget = 8 * 1024 * 1024;
const mostSeen = 8192;

/** The names of a Pod and of its owner, by which workloads differ, come first in what the API server writes. */
const telling = 1536;

/** FNV-1a over the telling part; two questions with the same one are only kept a little early. */
function fingerprint(text: string): number {
  let hash = 0x811c9dc5 ^ text.length;
  const end = Math.min(text.length, telling);
  for (let at = 0; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** A review taken apart without parsing it: who asks, the name of the token's volume, and everything else. */
export interface Glance {
  readonly uid: string;
  readonly volume: string;
  readonly question: string;
}

/** What of a review is needed to answer it, once it is decided. */
export type Asked = Pick<Review, 'uid' | 'namespace' | 'dryRun'>;

/** Texts alone: what was parsed takes many times the room of its text, and is let go. */
interface Remembered {
  readonly mesh: Mesh;
  readonly namespace: Namespace;
  readonly dryRun: boolean;
  readonly admission: Admission;
  /** The patch; what holds the name of the volume is cut wherever it stands. */
  readonly patch: readonly (Kept | readonly string[])[];
}

/**
 * Remembers what was decided. The replicas of a ReplicaSet arrive without name or uid; in what a 1.36 API server sends they differ in
 * the uid of the review and in the name of one volume. All else is the key, so that what is found is the very same question, asked
 * of the same values and the same namespace; the name is opaque to every rule, and filled in wherever the patch repeats it. A
 * rollout of many replicas is parsed and decided once.
 */
export class Replicas {
  readonly #known = new Map<string, Remembered>();
  #size = 0;
  /** Fingerprints of what came once. What comes only once is not kept: keeping it would cost the collector more than it saves. */
  readonly #seen = new Set<number>();

  /** Takes a review apart that came by an entry, if it begins as the API server's do. */
  glance(entry: string, body: string): Glance | undefined {
    if (body.length > largest || !body.startsWith(beginning)) return undefined;
    const end = beginning.length + uidLength;
    const uid = body.slice(beginning.length, end);
    if (!isUid.test(uid) || !body.startsWith('",', end) || body.includes(mask)) return undefined;
    const rest = `${entry} ${body.slice(end)}`;
    const volume = volumeIn(rest);
    // What is joined is one flat text, which is looked up and read twice as fast as one that was replaced in.
    return { uid, volume, question: volume === '' ? rest : rest.split(volume).join(mask) };
  }

  /** What was decided of the same question, if nothing that it depends on has changed since. */
  find(
    { uid, volume, question }: Glance,
    mesh: () => Mesh,
    isKnown: (namespace: string) => boolean,
    namespaceOf: (name: string) => Namespace | Promise<Namespace>,
  ): { readonly asked: Asked; readonly admission: Admission } | undefined {
    const found = this.#known.get(question);
    // A namespace that is not in the cache must not be read for this; it would not be the same object anyway.
    if (found === undefined || found.mesh !== mesh() || !isKnown(found.namespace.name)) return undefined;
    if (found.namespace !== namespaceOf(found.namespace.name)) return undefined;
    const { outcome, reason, about, answer } = found.admission;
    const patch = found.patch.map((piece) => ('text' in piece ? piece : piece.join(volume)));
    return {
      asked: { uid, namespace: found.namespace.name, dryRun: found.dryRun },
      admission: { outcome, reason, about, answer: { allowed: answer.allowed, patch, rest: answer.rest } },
    };
  }

  /** Keeps what was decided, from the second time on that the question comes. */
  remember({ volume, question }: Glance, mesh: Mesh, namespace: Namespace, review: Review, admission: Admission): void {
    const print = fingerprint(question);
    if (!this.#known.has(question) && !this.#seen.has(print)) {
      if (this.#seen.size >= mostSeen) this.#seen.clear();
      this.#seen.add(print);
      return;
    }
    const { answer, about } = admission;
    const told = answer.rest + JSON.stringify(about);
    // There it would have to be filled in as well, for a person to read; only somebody who plays with us writes it.
    if (volume !== '' && told.includes(volume)) return;
    const patch = answer.patch.map((piece) => pieceFor(piece, volume));
    const size = question.length + told.length + patch.reduce((sum, piece) => sum + sizeOf(piece), 0);
    if (this.#size + size > budget) {
      this.#known.clear();
      this.#size = 0;
    }
    this.#size += size;
    const kept = { ...admission, answer: { ...answer, patch: [] } };
    this.#known.set(question, { mesh, namespace, dryRun: review.dryRun, admission: kept, patch });
  }
}

function pieceFor(piece: Piece, volume: string): Kept | readonly string[] {
  const text = typeof piece === 'string' ? piece : piece.text;
  if (volume !== '' && text.includes(volume)) return text.split(volume);
  return typeof piece === 'string' ? keep(piece) : piece;
}

/** As if nothing were shared, which is more than it takes. */
function sizeOf(piece: Kept | readonly string[]): number {
  return 'text' in piece ? piece.text.length + piece.base64.length : piece.join('').length;
}

function volumeIn(text: string): string {
  const at = text.indexOf(`"${volumePrefix}`);
  const name = at < 0 ? '' : text.slice(at, at + volumeLength + 2);
  return isVolume.test(name) ? name.slice(1, -1) : '';
}
