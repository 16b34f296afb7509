import type { JsonObject } from '../json.js';
import { textAt } from '../json.js';
import { base, components } from './components.js';
import type { InstallOptions } from './options.js';

/** A file of the kustomize tree: its path, and the documents in it. */
export interface ManifestFile {
  readonly path: string;
  readonly documents: readonly JsonObject[];
}

/** The installation as a kustomize base with components, and an overlay of the default ones. */
export function kustomizeTree(options: InstallOptions): readonly ManifestFile[] {
  const names = Object.keys(components);
  const defaults = names.filter((name) => components[name]?.isDefault === true);
  return [
    ...folder('base', { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' }, base(options)),
    ...names.flatMap((name) => componentFolder(name, options)),
    {
      path: 'default/kustomization.yaml',
      documents: [
        {
          apiVersion: 'kustomize.config.k8s.io/v1beta1',
          kind: 'Kustomization',
          resources: ['../base'],
          components: defaults.map((name) => `../components/${name}`),
        },
      ],
    },
  ];
}

function componentFolder(name: string, options: InstallOptions): readonly ManifestFile[] {
  const component = components[name];
  if (component === undefined) return [];
  const patches = component.patches(options).map(({ kind, name: target, operations }) => ({
    target: { kind, name: target },
    patch: JSON.stringify(operations),
  }));
  const head = {
    apiVersion: 'kustomize.config.k8s.io/v1alpha1',
    kind: 'Component',
    ...(patches.length > 0 ? { patches } : {}),
  };
  return folder(`components/${name}`, head, component.objects(options));
}

function folder(path: string, head: JsonObject, objects: readonly JsonObject[]): readonly ManifestFile[] {
  const kinds = [...new Set(objects.map((object) => textAt(object, 'kind') ?? ''))];
  const files = kinds.map((kind) => ({
    path: `${path}/${kind.toLowerCase()}.yaml`,
    documents: objects.filter((object) => object.kind === kind),
  }));
  const resources = files.map((file) => file.path.slice(path.length + 1)).sort();
  const kustomization = { ...head, ...(resources.length > 0 ? { resources } : {}) };
  return [{ path: `${path}/kustomization.yaml`, documents: [kustomization] }, ...files];
}
