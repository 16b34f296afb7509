import type { Json, JsonObject } from '../json.js';
import { guard } from './guard.js';
import { monitoring } from './monitoring.js';
import { type InstallOptions, labels, objects } from './options.js';
import { roles } from './permissions.js';
import { webhookConfiguration } from './registration.js';
import { clusterSpiffeIds } from './spire.js';
import { foundations, ownNamespace, workload } from './workload.js';

/** A change that a component makes to an object of the base, as kustomize and RFC 6902 have it; only `add` is needed. */
export interface ComponentPatch {
  readonly kind: string;
  readonly name: string;
  readonly operations: readonly { readonly op: 'add'; readonly path: string; readonly value: Json }[];
}

/** A part of the installation that can be chosen. */
export interface Component {
  readonly help: string;
  readonly isDefault: boolean;
  readonly objects: (options: InstallOptions) => readonly JsonObject[];
  readonly patches: (options: InstallOptions) => readonly ComponentPatch[];
}

const toArgs = (...args: readonly string[]) =>
  args.map((value) => ({ op: 'add' as const, path: '/spec/template/spec/containers/0/args/-', value }));
const toVolumes = (value: JsonObject) => ({ op: 'add' as const, path: '/spec/template/spec/volumes/-', value });
const toMounts = (value: JsonObject) => ({
  op: 'add' as const,
  path: '/spec/template/spec/containers/0/volumeMounts/-',
  value,
});
const onDeployment = (...operations: ComponentPatch['operations']): ComponentPatch => ({
  kind: 'Deployment',
  name: objects.account,
  operations,
});

/** Every component, by the name that `--with` and `--without` take. */
export const components: { readonly [name: string]: Component } = {
  namespace: {
    help: 'a namespace for signet alone; leave it out where the namespace is there already',
    isDefault: true,
    objects: ownNamespace,
    patches: () => [],
  },
  'self-signed': {
    help: 'signet makes and renews its own certificate, in a Secret that all replicas share',
    isDefault: true,
    objects: (options) => roles('self-signed', options),
    patches: () => [onDeployment(...toArgs('--self-signed'))],
  },
  'cert-manager': {
    help: 'cert-manager makes and renews the certificate, and sets caBundle; take self-signed out',
    isDefault: false,
    objects: certManager,
    patches: ({ namespace }) => [
      onDeployment(
        ...toArgs('--tls-cert', '/var/run/signet/tls/tls.crt', '--tls-key', '/var/run/signet/tls/tls.key'),
        toVolumes({ name: 'tls', secret: { secretName: objects.secret } }),
        toMounts({ name: 'tls', mountPath: '/var/run/signet/tls', readOnly: true }),
      ),
      {
        kind: 'MutatingWebhookConfiguration',
        name: objects.webhook,
        operations: [
          {
            op: 'add',
            path: '/metadata/annotations',
            value: { 'cert-manager.io/inject-ca-from': `${namespace}/${objects.secret}` },
          },
        ],
      },
    ],
  },
  guard: {
    help: 'the API server itself refuses Pods that ask for injection and came out without it',
    isDefault: true,
    objects: guard,
    patches: () => [],
  },
  linkerd: {
    help: 'take the values and trust roots of a Linkerd installation in the same namespace, as they are',
    isDefault: false,
    objects: () => [],
    patches: () => [
      onDeployment(
        // Before our own file, which is laid over them; a later insertion at the same place comes to stand before.
        ...[
          'identityTrustAnchorsPEM=/var/run/linkerd/identity/trust-roots/ca-bundle.crt',
          '--set-file',
          '/var/run/linkerd/config/values',
          '--values',
        ].map((value) => ({ op: 'add' as const, path: '/spec/template/spec/containers/0/args/1', value })),
        toVolumes({ name: 'linkerd-config', configMap: { name: 'linkerd-config' } }),
        toVolumes({ name: 'trust-roots', configMap: { name: 'linkerd-identity-trust-roots' } }),
        toMounts({ name: 'linkerd-config', mountPath: '/var/run/linkerd/config', readOnly: true }),
        toMounts({ name: 'trust-roots', mountPath: '/var/run/linkerd/identity/trust-roots', readOnly: true }),
      ),
    ],
  },
  spire: {
    help: 'register injected Pods with SPIRE (ClusterSPIFFEID), under the IDs and DNS names that their proxies expect',
    isDefault: false,
    objects: clusterSpiffeIds,
    patches: () => [],
  },
  'trust-roots': {
    help: 'signet may keep the ConfigMap of trust roots in the namespaces that need it',
    isDefault: true,
    objects: (options) => roles('trust-roots', options),
    patches: () => [],
  },
  audit: {
    help: 'signet looks at the Pods of the cluster every ten minutes, and exports what `signet audit` finds',
    isDefault: false,
    objects: (options) => roles('audit', options),
    patches: () => [onDeployment(...toArgs('--audit-interval', '10m'))],
  },
  monitoring: {
    help: 'alerts (PrometheusRule) and a Grafana dashboard',
    isDefault: false,
    objects: monitoring,
    patches: () => [],
  },
};

/** What is installed whatever is chosen; the registration comes last, when there is something to answer it. */
export function base(options: InstallOptions): readonly JsonObject[] {
  const runs = options.url === '' ? workload(options) : [];
  return [...foundations(options), ...roles('base', options), ...runs, webhookConfiguration(options)];
}

function certManager({ namespace }: InstallOptions): readonly JsonObject[] {
  const apiVersion = 'cert-manager.io/v1';
  const dnsNames = [`${objects.service}.${namespace}.svc`, `${objects.service}.${namespace}.svc.cluster.local`];
  return [
    { apiVersion, kind: 'Issuer', metadata: { name: objects.account, namespace, labels }, spec: { selfSigned: {} } },
    {
      apiVersion,
      kind: 'Certificate',
      metadata: { name: objects.secret, namespace, labels },
      spec: {
        secretName: objects.secret,
        dnsNames,
        issuerRef: { kind: 'Issuer', name: objects.account },
        privateKey: { algorithm: 'ECDSA', size: 256, rotationPolicy: 'Always' },
      },
    },
  ];
}
