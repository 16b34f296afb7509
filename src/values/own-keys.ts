import { sources } from './profiles.js';
import { fileName, mountPath, signer, size } from './rules.js';
import { choice, flag, free, group, maybe, objects, text, texts, whole } from './schema.js';

/** The keys under `signet`: all that Linkerd's values have no word for. */
export const ownKeys = group({
  preset: choice(['signet', 'linkerd'], 'signet', '`linkerd`: what Linkerd would add, field for field'),
  controlPlaneNamespace: text('linkerd', "namespace of the mesh's control plane"),
  copyCapabilities: flag(false, "give proxy and init container the capabilities of the Pod's first container"),
  debugContainer: group({
    enabled: flag(false, 'add the debug container to every Pod'),
    securityContext: free(
      {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        runAsNonRoot: true,
        runAsUser: 65534,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      'security context of the debug container; capturing packets needs more than this default',
    ),
  }),
  excludedNamespaces: texts(
    ['kube-system', 'kube-public', 'kube-node-lease', 'cert-manager'],
    'namespaces that are never touched, beside the one signet runs in',
  ),
  identity: group({
    keys: group({
      sizeLimit: text('1Mi', 'size limit of the memory volume that holds the keys; empty: none', size),
    }),
    podCertificate: group({
      credentialBundlePath: text('credentials.pem', 'file that holds the key and its chain', fileName),
      keyType: choice(
        ['ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519', 'RSA3072', 'RSA4096'],
        'ECDSAP256',
        'kind of key that the kubelet makes',
      ),
      maxExpirationSeconds: whole(86400, 'longest life of the certificate', {
        expected: 'a whole number from 3600 to 7862400 (91 days)',
        holds: (value) => value >= 3600 && value <= 7862400,
      }),
      signerName: text('', 'signer of the certificates; needed for `podCertificate`', signer),
    }),
    profiles: objects(
      'identities for the Pods they select: `name`, `selector.matchLabels`, `source`, `spiffeID.trustDomain`, `spiffeID.path`',
    ),
    readOnlyMounts: flag(true, 'mount everything the proxy only reads as read-only'),
    source: choice(sources, 'token', 'where the identity of a Pod comes from that no profile selects'),
    token: group({
      audience: text('identity.l5d.io', 'audience of the projected ServiceAccount token', {
        expected: 'an audience that is not empty',
        holds: (value) => value !== '',
      }),
      expirationSeconds: whole(86400, 'lifetime of that token', {
        expected: 'a whole number from 600 to 86400, but not 3607 (which the API server extends to a year)',
        holds: (value) => value >= 600 && value <= 86400 && value !== 3607,
      }),
    }),
  }),
  noteSkipped: flag(
    true,
    'write the annotation `signet.dev/skipped` with the reason on a Pod that asked for injection and is skipped',
  ),
  onInvalidAnnotation: choice(
    ['warn', 'deny', 'linkerd'],
    'warn',
    'what an invalid or denied annotation does: `warn`, it is ignored with a warning; `deny`, the Pod is refused; `linkerd`, the former but for the two that Linkerd refuses',
  ),
  onNameClash: choice(
    ['refuse', 'skip'],
    'refuse',
    'what happens to a Pod that has a container or volume of our names',
  ),
  overrides: group({
    deny: texts([], 'annotations that workloads may not set: a full key, or the start of one followed by `*`'),
  }),
  record: flag(true, 'write the annotation `signet.dev/status`, by which `uninject` takes out exactly what was added'),
  sidecar: group({
    args: texts([], 'its arguments'),
    command: texts([], 'its command; empty: that of the image'),
    env: objects('its environment variables (Kubernetes EnvVar objects)'),
    image: text('', 'image of a container of your own in the place of the Linkerd proxy; empty: the Linkerd proxy'),
    imagePullPolicy: text('', 'its pull policy; empty: `imagePullPolicy`'),
    layout: choice(
      ['linkerd', 'istio', 'kuma'],
      'linkerd',
      'where a proxy of this kind expects its identity; also for `signet.dev/inject: identity`',
    ),
    lifecycle: free({}, 'its lifecycle hooks'),
    livenessProbe: free({}, 'its liveness probe'),
    name: text('signet-sidecar', 'its name', {
      expected: 'a DNS label of at most 63 characters that is not the name of a container of Linkerd',
      holds: (value) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(value) && !value.startsWith('linkerd-'),
    }),
    paths: group({
      credentials: text('', 'where certificate files are mounted; empty: as the layout has it', mountPath),
      keys: text('', 'where the memory volume for keys is mounted; empty: as the layout has it', mountPath),
      socket: text('', 'where the SPIRE socket is mounted; empty: as the layout has it', mountPath),
      token: text('', 'where the token is mounted; empty: as the layout has it', mountPath),
      trustRoots: text('', 'where the trust roots are mounted; empty: as the layout has it', mountPath),
    }),
    ports: objects('its ports (Kubernetes ContainerPort objects)'),
    readinessProbe: free({}, 'its readiness probe'),
    redirect: flag(
      false,
      'redirect the traffic of the Pod to it: the init container, or the validator in CNI mode, with `proxy.ports` and `proxy.uid`',
    ),
    resources: free({}, 'its resources'),
    securityContext: free(
      {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        runAsUser: 2102,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      'its security context',
    ),
    startupProbe: free({}, 'its startup probe'),
    volumeMounts: objects('mounts of its own, beside those of the identity'),
    volumes: objects('volumes for those mounts (Kubernetes Volume objects)'),
  }),
  skipUnrunnable: flag(true, 'skip Windows Pods and mirrors of static Pods, in which a proxy would not run'),
  spire: group({
    enabled: flag(false, 'mount the socket directory of the SPIRE agent, beside whatever source a Pod has'),
    mountPath: text('/run/spire/sockets', 'where it is mounted in layout `linkerd`', mountPath),
    path: text('/run/spire/sockets', 'where it is on the node, for `hostPath`', mountPath),
    socketFile: text('socket', 'file name of the socket in that directory', fileName),
    volume: choice(
      ['hostPath', 'csi'],
      'hostPath',
      'how the directory comes into the Pod: `hostPath`, which Pod Security baseline forbids; `csi`, by the driver csi.spiffe.io',
    ),
  }),
  trustRoots: group({
    bundles: free(
      {},
      'roots of further trust domains, trust domain → PEM; put together with the others in what Pods get',
    ),
    clusterTrustBundle: group({
      labelSelector: maybe('with `signerName`, which of its bundles: unset selects none, empty (`{}`) all'),
      name: text('', 'one ClusterTrustBundle by its name; or `signerName`'),
      signerName: text('', 'every ClusterTrustBundle of this signer that `labelSelector` selects; or `name`', signer),
    }),
    configMap: group({
      key: text('ca-bundle.crt', 'key of the ConfigMap that holds the bundle', {
        expected: 'a key of letters, digits, -, _ and .',
        holds: (value) => /^[\w.-]{1,253}$/.test(value) && value !== '.' && value !== '..',
      }),
      name: text('linkerd-identity-trust-roots', 'ConfigMap that holds the trust roots', {
        expected: 'the name of a ConfigMap',
        holds: (value) => /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(value),
      }),
    }),
    distribute: flag(
      true,
      'keep that ConfigMap in every namespace that needs it, as a copy of the one in `signet.controlPlaneNamespace`',
    ),
    source: choice(
      ['configMap', 'clusterTrustBundle', 'inline'],
      'configMap',
      'where Pods get their trust roots: `configMap` and `clusterTrustBundle`, a volume; `inline`, the text of `identityTrustAnchorsPEM`',
    ),
  }),
});
