import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { version } from '../src/commands/version.js';
import { fromValues } from '../src/install/from-values.js';
import { kustomizeTree } from '../src/install/kustomize.js';
import type { InstallOptions } from '../src/install/options.js';
import { writeYaml } from '../src/manifest/whole.js';
import { load } from '../src/values/load.js';

// Writes manifests/: what `signet install` prints, as a kustomize base with components.

/** Every file of manifests/ with its text. */
export function manifestFiles(): ReadonlyMap<string, string> {
  return new Map(
    kustomizeTree(defaultOptions()).map(({ path, documents }) => [
      `manifests/${path}`,
      documents.map(writeYaml).join('---\n'),
    ]),
  );
}

/** An installation of which nothing was chosen. */
export function defaultOptions(): InstallOptions {
  const result = load([]);
  if ('mistakes' in result) throw new Error('the defaults are not valid');
  return {
    namespace: 'signet',
    image: `ghcr.io/signet-dev/signet:${version}`,
    replicas: 2,
    values: '{}\n',
    url: '',
    ...fromValues(result.loaded.values),
  };
}

if (process.argv[1]?.endsWith('scripts/manifests.js')) {
  rmSync('manifests', { recursive: true, force: true });
  for (const [path, text] of manifestFiles()) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
