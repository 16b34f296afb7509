import { entryOf, type JsonObject, listAt, textAt } from '../../json.js';
import type { Values } from '../../values/keys.js';
import type { Parts } from '../build/build.js';
import { identityVolumes } from '../identity/layouts.js';
import * as names from '../names.js';
import type { Plan, Target } from '../plan.js';
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
    if (known === proxies && isOwnSidecar(container, values)) return true;
    return known.names.includes(name) && (namesakesCount || !isNamesake(container, workload, values));
  };
  return (
    spot('initContainers', workload.initContainers, (one) => shows(proxies, one) || shows(inits, one)) ??
    spot('containers', workload.containers, (one) => shows(proxies, one))
  );
}

/** The sidecar that the administrator has put in the place of the Linkerd proxy, whatever its tag. */
function isOwnSidecar(container: JsonObject, { signet: { sidecar } }: Values): boolean {
  if (sidecar.image === '' || textAt(container, 'name') !== sidecar.name) return false;
  return repositoryOf(textAt(container, 'image') ?? '') === repositoryOf(sidecar.image);
}

/** True of a Pod that Linkerd or signet has injected; a namesake does not count, unless names are all that counts. */
export function isMeshed(workload: Workload, values: Values): boolean {
  const shows = (one: JsonObject) =>
    [names.containers.proxy, names.containers.init].some((name) => name === textAt(one, 'name')) &&
    (values.signet.onNameClash === 'skip' || !isNamesake(one, workload, values));
  return [...workload.initContainers, ...workload.containers].some(shows);
}

/** The first container or volume that bears a name of what we would add, or a mount that is in its way. */
export function nameClash(workload: Workload, { settings: { values }, parts, targets }: Plan): Spot | undefined {
  const added = [parts.xtables, ...parts.volumes].map((one) => textAt(one, 'name'));
  const own = textAt(parts.proxy, 'name');
  const foreign = (one: JsonObject) =>
    parts.proxy !== undefined && (isNamesake(one, workload, values) || textAt(one, 'name') === own);
  return (
    spot('initContainers', workload.initContainers, foreign) ??
    spot('containers', workload.containers, foreign) ??
    spot('volumes', workload.volumes, (one) => added.includes(textAt(one, 'name') ?? '')) ??
    mountClash(parts, targets)
  );
}

/** Kubernetes refuses a container that mounts two things in one place. */
function mountClash({ granted }: Parts, targets: readonly Target[]): Spot | undefined {
  const called = new Set<string>();
  for (const { list, index, container } of targets) {
    // By its name a container is found again when the identity is taken out.
    const name = textAt(container, 'name');
    if (name === undefined || called.has(name))
      return { path: ['spec', list, String(index)], name: 'a container without a name of its own' };
    called.add(name);
    const mounts = listAt(container, 'volumeMounts');
    const at = mounts.findIndex((one) => {
      // An author may write the same place with a / at its end.
      const place = (textAt(one, 'mountPath') ?? '').replace(/\/+$/, '');
      return granted.mounts.some(({ mountPath, name }) => mountPath === place || name === textAt(one, 'name'));
    });
    if (at < 0) continue;
    return {
      path: ['spec', list, String(index), 'volumeMounts', String(at)],
      name: `mount ${textAt(mounts[at], 'mountPath') ?? ''}`,
    };
  }
  return undefined;
}

/**
 * Whether the Pod shows an identity of ours, whatever the values were at the time: one of its containers mounts a volume that
 * only an identity brings, and the Pod says who brought it. A volume alone is somebody else's, and in our way.
 */
export function carriesIdentity({ volumes, annotations }: Workload, { settings, targets }: Plan): boolean {
  if (entryOf(annotations, names.createdBy)?.startsWith('signet') !== true) return false;
  const ours = identityVolumes(settings.values).filter((name) => volumes.some((one) => textAt(one, 'name') === name));
  return targets.some(({ container }) =>
    listAt(container, 'volumeMounts').some((mount) => ours.includes(textAt(mount, 'name') ?? '')),
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
