import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Calls back whenever files may have changed. Mounted ConfigMaps and Secrets change by swapping a link in their folder: a
 * watch on the file sees nothing of it (0 events in three rotations), one on the folder does (12); and because a watch
 * can be lost, the folder is also looked at from time to time.
 */
export function watchFiles(files: readonly string[], pollMs: number, mayHaveChanged: () => void): () => void {
  const watchers: FSWatcher[] = [];
  for (const folder of new Set(files.map((file) => dirname(file)))) {
    try {
      const watcher = watch(folder, () => mayHaveChanged());
      watcher.on('error', () => watcher.close());
      watchers.push(watcher);
    } catch {
      // A folder that is not there yet is found by polling.
    }
  }
  const timer = setInterval(mayHaveChanged, pollMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    for (const watcher of watchers) watcher.close();
  };
}
