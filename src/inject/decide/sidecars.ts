import { entryOf, type JsonObject, textAt } from '../../json.js';
import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import type { Workload } from '../workload.js';

interface Known {
  readonly names: readonly string[];
  readonly images: readonly string[];
}

/** How a mesh proxy of Linkerd or Istio shows; an image counts only with a tag, one pinned by digest shows by its name. */
const proxies: Known = {
  names: ['linkerd-proxy', 'istio-proxy'],
  images: ['cr.l5d.io/linkerd/proxy:', 'gcr.io/istio-release/proxyv2:'],
};

/** How their init containers show. */
const inits: Known = {
  names: ['linkerd-init', 'istio-init'],
  images: ['cr.l5d.io/linkerd/proxy-init:', 'gcr.io/istio-release/proxy_init:'],
};

const ourContainers: readonly string[] = Object.values(names.containers);

/** Where something stands in a Pod. */
export interface Spot {
  readonly path: readonly string[];
  readonly name: string;
}

/** The first mesh proxy, or its init container, that the Pod has already; a mere namesake of ours is none. */
export function meshSidecar(workload: Workload, values: Values): Spot | undefined {
  const namesakesCount = values.signet.onNameClash === 'skip';
  const shows = (known: Known, container: JsonObject) => {
    const name = textAt(container, 'name') ?? '';
    const image = textAt(container, 'image') ?? '';
    if (known.images.some((start) => image.startsWith(start))) return true;
    return known.names.includes(name) && (namesakesCount || !isNamesake(container, workload, values));
  };
  return (
    spot('initContainers', workload.initContainers, (one) => shows(proxies, one) || shows(inits, one)) ??
    spot('containers', workload.containers, (one) => shows(proxies, one))
  );
}

/** True of a Pod that Linkerd or signet has injected; a namesake does not count, unless names are all that counts. */
export function isMeshed(workload: Workload, values: Values): boolean {
  const shows = (one: JsonObject) =>
    [names.containers.proxy, names.containers.init].some((name) => name === textAt(one, 'name')) &&
    (values.signet.onNameClash === 'skip' || !isNamesake(one, workload, values));
  return [...workload.initContainers, ...workload.containers].some(shows);
}

/** The first container or volume that bears one of our names and is not ours. */
export function nameClash(workload: Workload, values: Values): Spot | undefined {
  const foreign = (one: JsonObject) => isNamesake(one, workload, values);
  return (
    spot('initContainers', workload.initContainers, foreign) ??
    spot('containers', workload.containers, foreign) ??
    spot('volumes', workload.volumes, (one) => volumesToAdd(workload, values).includes(textAt(one, 'name') ?? ''))
  );
}

/**
 * A container with one of our names and an image that is neither the mesh's nor one the Pod may ask for: written by
 * someone who wants to look injected, or who did not know that the name is taken.
 */
function isNamesake(container: JsonObject, workload: Workload, values: Values): boolean {
  if (!ourContainers.includes(textAt(container, 'name') ?? '')) return false;
  const repository = repositoryOf(textAt(container, 'image') ?? '');
  const ours = [
    'cr.l5d.io/linkerd/proxy',
    'cr.l5d.io/linkerd/proxy-init',
    'cr.l5d.io/linkerd/debug',
    values.proxy.image.name,
    values.debugContainer.image.name,
    entryOf(workload.annotations, 'config.linkerd.io/proxy-image'),
    entryOf(workload.annotations, 'config.linkerd.io/debug-image'),
  ];
  return !ours.includes(repository);
}

/** An image without its tag or digest; a colon before the last slash is the port of a registry. */
function repositoryOf(image: string): string {
  const [name = ''] = image.split('@');
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  return colon < 0 ? name : name.slice(0, colon);
}

function spot(list: string, items: readonly JsonObject[], test: (one: JsonObject) => boolean): Spot | undefined {
  const index = items.findIndex(test);
  const item = items[index];
  return item === undefined ? undefined : { path: ['spec', list, String(index)], name: textAt(item, 'name') ?? '' };
}

/** The names of the volumes that this Pod would get; others are free for whoever wants them. */
function volumesToAdd({ annotations }: Workload, { cniEnabled, identity, proxy, signet }: Values): readonly string[] {
  const spire = entryOf(annotations, 'kuma.io/spire-integration') ?? (signet.spire.enabled ? 'enabled' : 'disabled');
  const wanted: readonly (readonly [string, boolean])[] = [
    [names.volumes.keys, true],
    [names.volumes.token, identity.serviceAccountTokenProjection],
    [names.volumes.xtables, !cniEnabled],
    [names.volumes.podinfo, proxy.tracing.enabled],
    [names.volumes.trustRoots, signet.trustRoots.source === 'configMap'],
    [names.volumes.spire, spire === 'enabled'],
  ];
  return wanted.filter(([, isAdded]) => isAdded).map(([name]) => name);
}
