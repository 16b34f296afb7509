import type { Mesh } from '../inject/mesh.js';
import { watchFiles } from './watch-files.js';

/** How values are read again, and who hears of it. */
export interface Reloading {
  readonly files: readonly string[];
  readonly pollMs: number;
  /** What the files hold now, to tell whether they changed; an unreadable file is a content of its own. */
  readonly fingerprint: () => string;
  /** Reads the files; throws with every mistake in the message. */
  readonly load: () => Mesh;
  readonly taken: (mesh: Mesh) => void;
  readonly kept: (mistakes: string) => void;
}

/** Takes new values when the files change. Broken ones are told of, and the last good ones stay: admission goes on. */
export function reloadValues({ files, pollMs, fingerprint, load, taken, kept }: Reloading): () => void {
  if (files.length === 0) return () => {};
  let seen = fingerprint();
  return watchFiles(files, pollMs, () => {
    const now = fingerprint();
    if (now === seen) return;
    seen = now;
    try {
      taken(load());
    } catch (error) {
      kept(error instanceof Error ? error.message : String(error));
    }
  });
}
