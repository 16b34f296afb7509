/** An object of a cluster by its kind and name, as kubectl takes it. */
export interface ClusterName {
  readonly kind: string;
  readonly apiVersion: string;
  readonly name: string;
  readonly path: (namespace: string) => string;
}

const kinds: readonly { readonly kind: string; readonly apiVersion: string; readonly words: readonly string[] }[] = [
  { kind: 'Pod', apiVersion: 'v1', words: ['pod', 'pods', 'po'] },
  { kind: 'ReplicationController', apiVersion: 'v1', words: ['replicationcontroller', 'replicationcontrollers', 'rc'] },
  { kind: 'Deployment', apiVersion: 'apps/v1', words: ['deployment', 'deployments', 'deploy'] },
  { kind: 'ReplicaSet', apiVersion: 'apps/v1', words: ['replicaset', 'replicasets', 'rs'] },
  { kind: 'StatefulSet', apiVersion: 'apps/v1', words: ['statefulset', 'statefulsets', 'sts'] },
  { kind: 'DaemonSet', apiVersion: 'apps/v1', words: ['daemonset', 'daemonsets', 'ds'] },
  { kind: 'Job', apiVersion: 'batch/v1', words: ['job', 'jobs'] },
  { kind: 'CronJob', apiVersion: 'batch/v1', words: ['cronjob', 'cronjobs', 'cj'] },
];

/** Whether a word was meant as `KIND/NAME` of a cluster and not as a file: one slash, no dot at its end, a name behind it. */
export function looksLikeClusterName(word: string): boolean {
  return /^[A-Za-z]+\/[a-z0-9][a-z0-9-]*$/.test(word);
}

/** The kinds that can be named. */
export const clusterKinds: readonly string[] = kinds.map(({ words }) => words[0] ?? '');

/** Reads `KIND/NAME`; nothing when it is none, or the kind is not one that carries a Pod. */
export function readClusterName(word: string): ClusterName | undefined {
  const match = /^([A-Za-z]+)(?:\.[a-z0-9.]+)?\/([a-z0-9][a-z0-9.-]*)$/.exec(word);
  const row = kinds.find(({ words }) => words.includes(match?.[1]?.toLowerCase() ?? ''));
  const name = match?.[2];
  if (row === undefined || name === undefined) return undefined;
  const { kind, apiVersion } = row;
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return {
    kind,
    apiVersion,
    name,
    path: (namespace) => `${root}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`,
  };
}
