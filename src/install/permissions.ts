import type { JsonObject } from '../json.js';
import { type InstallOptions, labels, objects } from './options.js';

/** One thing that signet does with the API server, and why. */
export type Permission = Granted & Target;

type Target =
  | { readonly group: string; readonly resource: string; readonly paths?: undefined }
  | { readonly paths: readonly string[] };

interface Granted {
  readonly verbs: readonly string[];
  /** Objects by name, where the API allows it; it does not for create, list and watch. */
  readonly names?: (options: InstallOptions) => readonly string[];
  /** In signet's own namespace alone, or in all of them. */
  readonly scope: 'own' | 'cluster';
  readonly component: 'base' | 'self-signed' | 'trust-roots' | 'audit';
  readonly why: string;
}

/** Everything that signet may do, and nothing else. */
export const permissions: readonly Permission[] = [
  {
    group: '',
    resource: 'namespaces',
    verbs: ['get', 'list', 'watch'],
    scope: 'cluster',
    component: 'base',
    why: 'labels and annotations of namespaces',
  },
  {
    paths: ['/metrics'],
    verbs: ['get'],
    scope: 'cluster',
    component: 'base',
    why: 'whether the API server has Pod certificates and ClusterTrustBundles: nothing else tells',
  },
  {
    group: '',
    resource: 'events',
    verbs: ['create'],
    scope: 'cluster',
    component: 'base',
    why: 'Injected and InjectionSkipped on the owner of a Pod',
  },
  {
    group: 'admissionregistration.k8s.io',
    resource: 'mutatingwebhookconfigurations',
    verbs: ['get'],
    names: () => [objects.webhook],
    scope: 'cluster',
    component: 'base',
    why: 'readiness: does the API server trust what we serve?',
  },
  {
    group: 'admissionregistration.k8s.io',
    resource: 'mutatingwebhookconfigurations',
    verbs: ['patch'],
    names: () => [objects.webhook],
    scope: 'cluster',
    component: 'self-signed',
    why: 'set caBundle, and repair it when it drifts',
  },
  {
    group: '',
    resource: 'secrets',
    verbs: ['create'],
    scope: 'own',
    component: 'self-signed',
    why: 'the first certificate',
  },
  {
    group: '',
    resource: 'secrets',
    verbs: ['get', 'update'],
    names: () => [objects.secret],
    scope: 'own',
    component: 'self-signed',
    why: 'share and renew it',
  },
  {
    group: '',
    resource: 'configmaps',
    // A list or watch of one name is allowed by that name.
    verbs: ['list', 'watch', 'update'],
    names: ({ trustRoots }) => [trustRoots],
    scope: 'cluster',
    component: 'trust-roots',
    why: 'the trust roots of the control plane, and their copies',
  },
  {
    group: '',
    resource: 'configmaps',
    verbs: ['create'],
    scope: 'cluster',
    component: 'trust-roots',
    why: 'their copies in namespaces that opted in',
  },
  {
    group: '',
    resource: 'pods',
    verbs: ['list'],
    scope: 'cluster',
    component: 'audit',
    why: 'which of them lack an identity, or have a stale one',
  },
];

/** The roles of a component with their bindings. */
export function roles(component: Permission['component'], options: InstallOptions): readonly JsonObject[] {
  const name = component === 'base' ? objects.account : `${objects.account}-${component}`;
  return (['cluster', 'own'] as const).flatMap((scope) => {
    const granted = permissions.filter((one) => one.component === component && one.scope === scope);
    return granted.length === 0 ? [] : roleWithBinding(name, scope, granted, options);
  });
}

function roleWithBinding(
  name: string,
  scope: Permission['scope'],
  granted: readonly Permission[],
  options: InstallOptions,
): readonly JsonObject[] {
  const { namespace } = options;
  const kind = scope === 'cluster' ? 'ClusterRole' : 'Role';
  const metadata = { name, ...(scope === 'own' ? { namespace } : {}), labels };
  const rules = granted.map((one) => ruleOf(one, options));
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  return [
    { apiVersion, kind, metadata, rules },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [{ kind: 'ServiceAccount', name: objects.account, namespace }],
    },
  ];
}

function ruleOf(one: Permission, options: InstallOptions): JsonObject {
  if (one.paths !== undefined) return { nonResourceURLs: one.paths, verbs: one.verbs };
  return {
    apiGroups: [one.group],
    resources: [one.resource],
    ...(one.names === undefined ? {} : { resourceNames: one.names(options) }),
    verbs: one.verbs,
  };
}

/** What a permission is for: a resource, or a path of the API server. */
export function targetOf(one: Permission): string {
  return one.paths === undefined ? one.resource : one.paths.join(', ');
}
