/** Every name that signet shares with Linkerd, or reserves for itself. */

export const injectKey = 'linkerd.io/inject';
export const createdBy = 'linkerd.io/created-by';
export const proxyVersion = 'linkerd.io/proxy-version';
export const trustRootChecksum = 'linkerd.io/trust-root-sha256';
export const controlPlaneNamespace = 'linkerd.io/control-plane-ns';
export const workloadNamespace = 'linkerd.io/workload-ns';
export const ownerPrefix = 'linkerd.io/proxy-';
export const controlPlaneComponent = 'linkerd.io/control-plane-component';
export const cniResource = 'linkerd.io/cni-resource';
export const admissionWebhooks = 'config.linkerd.io/admission-webhooks';
export const opaquePorts = 'config.linkerd.io/opaque-ports';
export const additionalEnv = 'config.linkerd.io/proxy-additional-env';
export const traceAttributePrefix = 'resource.opentelemetry.io/';
export const mirrorPod = 'kubernetes.io/config.mirror';
/** Kuma's switch for the socket, as its design has it and as it ships. */
export const kumaDesign = 'kuma.io/spire-integration';
export const kumaShipped = 'k8s.kuma.io/spire-support';

/** On a Pod: `identity`, which injects identity alone, without a proxy. */
export const injectIdentityKey = 'signet.dev/inject';
/** As annotation: which source or profile. As label: which it became, for a ClusterSPIFFEID to select by. */
export const identityKey = 'signet.dev/identity';
export const containersKey = 'signet.dev/workload-api-containers';
/** Label of a Pod that has the socket of the SPIRE agent. */
export const spireLabel = 'signet.dev/spire';
/** Label with the name of the workload, where a SPIFFE ID is made of it. */
export const workloadLabel = 'signet.dev/workload';
/** Annotation that holds trust roots given as text, for whoever reads them as a file. */
export const trustRootsKey = 'signet.dev/trust-roots';

export const statusKey = 'signet.dev/status';
export const skippedKey = 'signet.dev/skipped';
export const modeKey = 'signet.dev/mode';

export const containers = {
  proxy: 'linkerd-proxy',
  init: 'linkerd-init',
  validator: 'linkerd-network-validator',
  debug: 'linkerd-debug',
} as const;

export const volumes = {
  keys: 'linkerd-identity-end-entity',
  token: 'linkerd-identity-token',
  trustRoots: 'linkerd-identity-trust-roots',
  xtables: 'linkerd-proxy-init-xtables-lock',
  podinfo: 'linkerd-podinfo',
  spire: 'spire-agent-socket',
  credentials: 'linkerd-identity-credentials',
} as const;

export const paths = {
  keys: '/var/run/linkerd/identity/end-entity',
  trustRoots: '/var/run/linkerd/identity/trust-roots',
  token: '/var/run/secrets/tokens',
  tokenFile: 'linkerd-identity-token',
  credentials: '/var/run/linkerd/identity/credentials',
  rootsFile: 'ca-bundle.crt',
  podinfo: '/var/run/linkerd/podinfo',
  serviceAccount: '/var/run/secrets/kubernetes.io/serviceaccount',
} as const;

export const linkerdAudience = 'identity.l5d.io';
export const spiffeDriver = 'csi.spiffe.io';
export const endpointVariable = 'SPIFFE_ENDPOINT_SOCKET';
