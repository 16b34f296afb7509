import type { Namespace } from '../inject/decide/opt-in.js';
import type { Mesh } from '../inject/mesh.js';
import type { Admission } from './admit.js';
import type { Review } from './review.js';

/** How the API server begins every review it sends; whoever writes it otherwise is simply not remembered. */
const beginning = '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"';
const uidLength = 36;
const isUid = /^[\da-f-]{36}$/;

/** Reviews over this size are not worth the room: a Pod of 64 KiB comes alone. */
const largest = 64 * 1024;
const most = 512;

const mostSeen = 8192;

/** FNV-1a over every seventh character; two questions with the same one are only kept a little early. */
function fingerprint(text: string): number {
  let hash = 0x811c9dc5 ^ text.length;
  for (let at = 0; at < text.length; at += 7) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** A review taken apart without parsing it: who asks, and everything else. */
export interface Glance {
  readonly uid: string;
  readonly rest: string;
}

interface Remembered {
  readonly mesh: Mesh;
  readonly namespace: Namespace;
  readonly review: Review;
  readonly admission: Admission;
}

/**
 * Remembers what was decided. The replicas of a ReplicaSet arrive without name or uid, byte for byte alike (seen on 1.36): all of
 * the review but its own uid is the key, so that what is found is the very same question, asked of the same values and
 * the same namespace. A rollout of many replicas is parsed and decided once.
 */
export class Replicas {
  readonly #known = new Map<string, Remembered>();
  /** Fingerprints of what came once. What comes only once is not kept: keeping it would cost the collector more than it saves. */
  readonly #seen = new Set<number>();

  /** Finds the uid of a review, if it begins as the API server's do. */
  glance(body: string): Glance | undefined {
    if (body.length > largest || !body.startsWith(beginning)) return undefined;
    const end = beginning.length + uidLength;
    const uid = body.slice(beginning.length, end);
    return isUid.test(uid) && body.startsWith('",', end) ? { uid, rest: body.slice(end) } : undefined;
  }

  /** What was decided of the same question, if nothing that it depends on has changed since. */
  find(
    { uid, rest }: Glance,
    mesh: () => Mesh,
    isKnown: (namespace: string) => boolean,
    namespaceOf: (name: string) => Namespace | Promise<Namespace>,
  ): { readonly review: Review; readonly admission: Admission } | undefined {
    const known = this.#known.get(rest);
    // A namespace that is not in the cache must not be read for this; it would not be the same object anyway.
    if (known === undefined || !isKnown(known.review.namespace)) return undefined;
    const { review, admission } = known;
    if (known.mesh !== mesh() || known.namespace !== namespaceOf(review.namespace)) return undefined;
    return { review: { ...review, uid }, admission };
  }

  /** Keeps what was decided, from the second time on that the question comes. */
  remember({ rest }: Glance, mesh: Mesh, namespace: Namespace, review: Review, admission: Admission): void {
    const print = fingerprint(rest);
    if (!this.#known.has(rest) && !this.#seen.has(print)) {
      if (this.#seen.size >= mostSeen) this.#seen.clear();
      this.#seen.add(print);
      return;
    }
    if (this.#known.size >= most) this.#known.clear();
    this.#known.set(rest, { mesh, namespace, review, admission });
  }
}
