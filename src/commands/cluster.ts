import { accessFrom } from '../cluster/access.js';
import { Api } from '../cluster/api.js';
import { type Mesh, meshOf } from '../inject/mesh.js';
import { objects } from '../install/options.js';
import { entryOf, objectAt } from '../json.js';
import { type Loaded, load } from '../values/load.js';
import { causeOf, Failure } from './failure.js';
import type { Given } from './flags.js';
import type { Terminal } from './terminal.js';
import { meshFrom, mistakeLine, sha256, textLayer } from './values-input.js';
import { version } from './version.js';

/** The cluster that a kubeconfig names, or the one that we run in. */
export function apiFrom(given: Given): Api {
  try {
    return new Api(accessFrom(given.last('kubeconfig')));
  } catch (error) {
    throw new Failure(
      `cannot find the cluster: ${causeOf(error)}; --kubeconfig names a file, serve --standalone does without`,
    );
  }
}

/** The namespace that signet is installed in. */
export function homeOf(given: Given): string {
  return given.last('signet-namespace') ?? process.env.POD_NAMESPACE ?? 'signet';
}

/** The values that the installed webhook has: of its ConfigMap, with what the command line says over them. */
export async function installedValues(api: Api, home: string): Promise<Loaded> {
  const configMap = await api.get(`/api/v1/namespaces/${home}/configmaps/${objects.values}`);
  const text = entryOf(objectAt(configMap, 'data'), 'values.yaml') ?? '';
  const result = load([textLayer(text, `ConfigMap ${home}/${objects.values}`)]);
  if ('mistakes' in result) throw new Failure(result.mistakes.map(mistakeLine).join('\n'));
  return result.loaded;
}

/** The mesh that the command line describes or, when it says nothing, the one that is installed. */
export async function meshOfCluster(given: Given, api: Api, terminal: Terminal): Promise<Mesh> {
  const says = (['values', 'set', 'set-file'] as const).some((flag) => given.has(flag));
  if (says) return meshFrom(given, terminal);
  const home = homeOf(given);
  try {
    return meshOf(await installedValues(api, home), `signet ${version}`, sha256);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new Failure(
      `cannot read the values of the webhook in namespace ${home}: ${cause}; --values names a file, --signet-namespace another namespace`,
    );
  }
}
