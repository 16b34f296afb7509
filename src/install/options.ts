/** A SPIFFE ID as SPIRE's controller takes it. */
export interface SpiffeIdRegistration {
  /** Empty for the default. */
  readonly profile: string;
  readonly template: string;
}

/** What an administrator can choose when installing. */
export interface InstallOptions {
  readonly namespace: string;
  readonly image: string;
  readonly replicas: number;
  /** The text of the values file. */
  readonly values: string;
  /** Where the webhook runs when it does not run in the cluster; empty: behind its Service. */
  readonly url: string;
  readonly excludedNamespaces: readonly string[];
  /** The container that stands for a proxy, where it is not Linkerd's; else the Linkerd proxy's name. */
  readonly sidecar: string;
  /** The volumes by which an identity without a proxy shows. */
  readonly identityVolumes: readonly string[];
  /** The SPIFFE IDs to register with SPIRE, each with the Pods it is for. */
  readonly spiffeIds: readonly SpiffeIdRegistration[];
  /** The DNS name that peers verify, as a template of SPIRE's controller. */
  readonly dnsNameTemplate: string;
  /** The ConfigMap of trust roots that is kept in other namespaces. */
  readonly trustRoots: string;
}

export const component = 'signet';

/** Labels of everything that is ours. */
export const labels = { 'app.kubernetes.io/name': component, 'app.kubernetes.io/part-of': component } as const;

/** Labels that the Pods of the webhook are selected by. */
export const selector = { 'app.kubernetes.io/name': component, 'app.kubernetes.io/component': 'webhook' } as const;

/** Names that more than one object refers to. */
export const objects = {
  webhook: 'signet',
  service: 'signet',
  account: 'signet',
  values: 'signet-values',
  secret: 'signet-tls',
  guard: 'signet-guard',
} as const;

export const ports = { https: 8443, admin: 9990 } as const;
