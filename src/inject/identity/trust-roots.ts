import { at, type Json, type JsonObject, listAt, objectAt } from '../../json.js';
import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import { type Attachment, readMount } from './attachment.js';
import type { IdentityCase } from './identity.js';

const variable = 'LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS';

/** The trust anchors that are known by their text: the mesh's own, then those of the other trust domains in their order. */
export function trustAnchors({ identityTrustAnchorsPEM, signet }: Values): string {
  const further = Object.values(signet.trustRoots.bundles).map((pem) => String(pem));
  const all = [identityTrustAnchorsPEM, ...further].map((pem) => pem.trim()).filter((pem) => pem !== '');
  return all.length === 0 ? '' : `${all.join('\n')}\n`;
}

/** The trust anchors as the Linkerd proxy takes them: from the ConfigMap at each start, or the text itself. */
export function trustAnchorsVariable(values: Values): JsonObject {
  const { source, configMap } = values.signet.trustRoots;
  return source === 'configMap'
    ? { name: variable, valueFrom: { configMapKeyRef: { key: configMap.key, name: configMap.name } } }
    : { name: variable, value: trustAnchors(values) };
}

/** The trust roots as a volume, which follows its source without a restart. The Linkerd proxy needs none for a text. */
export function trustRootsVolume({ values, layout, reader }: IdentityCase): readonly Attachment[] {
  const { source, configMap } = values.signet.trustRoots;
  const { volume: name, path, file } = layout.trustRoots;
  if (source === 'inline' && reader === 'linkerd') return [];
  const content: JsonObject =
    source === 'configMap'
      ? { configMap: file === undefined ? { name: configMap.name } : items(values, file) }
      : { projected: { sources: [rootsSource(values, file ?? names.paths.rootsFile)] } };
  return [{ volume: { name, ...content }, mount: readMount(name, path, true) }];
}

/** The trust roots as one source of a projected volume, under a file name. */
export function rootsSource(values: Values, path: string): JsonObject {
  const { source, clusterTrustBundle } = values.signet.trustRoots;
  if (source === 'configMap') return { configMap: items(values, path) };
  // A Pod can read its own annotations as files: a text gets there without an object that would have to exist.
  if (source === 'inline')
    return {
      downwardAPI: { items: [{ fieldRef: { fieldPath: `metadata.annotations['${names.trustRootsKey}']` }, path }] },
    };
  const { name, signerName, labelSelector } = clusterTrustBundle;
  return {
    clusterTrustBundle: name === '' ? { signerName, labelSelector: labelSelector ?? {}, path } : { name, path },
  };
}

function items({ signet }: Values, path: string): JsonObject {
  const { name, key } = signet.trustRoots.configMap;
  return { name, items: [{ key, path }] };
}

/** Whether a Pod with these parts waits until there is a ConfigMap of this name. */
export function mountsConfigMap({ volumes }: { readonly volumes: readonly JsonObject[] }, name: string): boolean {
  const isIt = (holder: Json) => at(objectAt(holder, 'configMap'), 'name') === name;
  return volumes.some((volume) => isIt(volume) || listAt(objectAt(volume, 'projected'), 'sources').some(isIt));
}
