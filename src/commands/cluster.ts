import { accessFrom } from '../cluster/access.js';
import { Api, ApiError } from '../cluster/api.js';
import { type Mesh, meshOf } from '../inject/mesh.js';
import { objects } from '../install/options.js';
import { at, entryOf, listAt, objectAt, textAt } from '../json.js';
import { isManifestError } from '../manifest/errors.js';
import { type Layer, type Loaded, load, nest } from '../values/load.js';
import { mistakeText } from './documents.js';
import { causeOf, Failure } from './failure.js';
import type { Given } from './flags.js';
import type { Terminal } from './terminal.js';
import { meshFrom, mistakeLine, setLayers, sha256, textLayer } from './values-input.js';
import { version } from './version.js';

/** The cluster that a kubeconfig names, or the one that we run in. */
export function apiFrom(given: Given): Api {
  const kubeconfig = given.last('kubeconfig') ?? process.env.KUBECONFIG;
  try {
    return new Api(accessFrom(given.last('kubeconfig')));
  } catch (error) {
    throw new Failure(
      `cannot find the cluster${kubeconfig === undefined ? '' : ` by ${kubeconfig}`}: ${causeOf(error)}${given.has('self-signed') || given.has('addr') ? '; serve --standalone does without one' : ''}`,
    );
  }
}

/** The namespace that signet is installed in. */
export function homeOf(given: Given): string {
  return given.last('signet-namespace') ?? process.env.POD_NAMESPACE ?? 'signet';
}

/**
 * The values that the installed webhook has, as layers: the files that its Deployment names, each from the ConfigMap that is
 * mounted there. Without a Deployment, which is when it runs outside of the cluster, those of its own ConfigMap.
 */
async function installedLayers(api: Api, home: string): Promise<readonly Layer[]> {
  const own = await configMapText(api, home, objects.values, 'values.yaml');
  const path = `/apis/apps/v1/namespaces/${home}/deployments/${objects.account}`;
  const deployment = await api.get(path).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  });
  const spec = objectAt(objectAt(objectAt(deployment, 'spec'), 'template'), 'spec');
  const container = listAt(spec, 'containers')[0];
  const args = listAt(container, 'args').map(String);
  if (!args.includes('--values')) return [textLayer(own, `ConfigMap ${home}/${objects.values}`)];
  const layers: Layer[] = [];
  for (const [index, flag] of args.entries()) {
    const word = args[index + 1] ?? '';
    const file = flag === '--set-file' ? word.slice(word.indexOf('=') + 1) : word;
    const mount = listAt(container, 'volumeMounts').find((one) => file.startsWith(`${textAt(one, 'mountPath')}/`));
    const volume = listAt(spec, 'volumes').find((one) => at(one, 'name') === at(mount, 'name'));
    const name = textAt(objectAt(volume, 'configMap'), 'name');
    if ((flag !== '--values' && flag !== '--set-file') || name === undefined) continue;
    const text = await configMapText(api, home, name, file.slice(file.lastIndexOf('/') + 1));
    const called = `ConfigMap ${home}/${name}`;
    if (flag === '--values') layers.push(textLayer(text, called));
    else
      layers.push({
        tree: nest(word.slice(0, word.indexOf('=')).split('.'), text),
        place: () => ({ from: 'set', text: called }),
      });
  }
  return layers;
}

async function configMapText(api: Api, namespace: string, name: string, key: string): Promise<string> {
  const configMap = await api.get(`/api/v1/namespaces/${namespace}/configmaps/${name}`);
  return entryOf(objectAt(configMap, 'data'), key) ?? '';
}

/** The values of the installed webhook, with what the command line sets over them. */
export async function installedValues(api: Api, home: string, over: readonly Layer[] = []): Promise<Loaded> {
  const result = load([...(await installedLayers(api, home)), ...over]);
  if ('mistakes' in result) throw new Failure(result.mistakes.map(mistakeLine).join('\n'));
  return result.loaded;
}

/** The mesh of the values files on the command line or, without any, of the installed webhook; what it sets lies over either. */
export async function meshOfCluster(given: Given, api: Api, terminal: Terminal): Promise<Mesh> {
  if (given.has('values')) return meshFrom(given, terminal);
  const home = homeOf(given);
  try {
    return meshOf(await installedValues(api, home, setLayers(given)), `signet ${version}`, sha256);
  } catch (error) {
    const cause = isManifestError(error) ? mistakeText(error) : error instanceof Error ? error.message : String(error);
    throw new Failure(
      `cannot read the values of the webhook in namespace ${home}: ${cause}; --values names a file, --signet-namespace another namespace`,
    );
  }
}
