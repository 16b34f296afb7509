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
