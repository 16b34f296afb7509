/**
 * The two ways a Pod reaches the core, and every difference between them. Linkerd's injector and its command line differ
 * in these points; each is a value here, so that no caller needs a branch of its own.
 */
export interface Origin {
  readonly name: 'webhook' | 'cli';
  /** Inject only what opted in; otherwise everything that did not opt out. */
  readonly needsOptIn: boolean;
  /** Leave out the namespaces and Pods that the API server never sends. */
  readonly honoursExclusions: boolean;
  /** Let a Pod take configuration annotations from its namespace. */
  readonly inheritsFromNamespace: boolean;
  /** Note on the Pod, and on Services, which of the default opaque ports it has. */
  readonly notesOpaquePorts: boolean;
  /** Note on a Pod that asked for injection why it is not injected. */
  readonly notesSkips: boolean;
  /** Let `linkerd.io/inject: ingress` switch to ingress mode; `linkerd inject` strips it before it is read. */
  readonly readsIngress: boolean;
  /** Where `proxy-additional-env` is looked for: on the Pod template, or on the object that holds it. */
  readonly additionalEnvOn: 'template' | 'object';
  /** Kinds whose name becomes a label `linkerd.io/proxy-<kind>`; the webhook cannot tell whose Job a Pod runs. */
  readonly ownerLabels: readonly string[];
  /** Whether a Pod is labelled with the owner that it shows. */
  readonly labelsOwnersOfPods: boolean;
  /** Write containers as a typed structure prints them: no zero, no empty text, quantities in their canonical form. */
  readonly writesTyped: boolean;
  /** What a Namespace object becomes: left alone, or opted in. */
  readonly optsNamespacesIn: boolean;
}

export const origins: { readonly [name in Origin['name']]: Origin } = {
  webhook: {
    name: 'webhook',
    needsOptIn: true,
    honoursExclusions: true,
    inheritsFromNamespace: true,
    notesOpaquePorts: true,
    notesSkips: true,
    readsIngress: true,
    additionalEnvOn: 'template',
    ownerLabels: ['daemonset', 'deployment', 'replicaset', 'replicationcontroller', 'statefulset'],
    labelsOwnersOfPods: true,
    writesTyped: false,
    optsNamespacesIn: false,
  },
  cli: {
    name: 'cli',
    needsOptIn: false,
    honoursExclusions: false,
    inheritsFromNamespace: false,
    notesOpaquePorts: false,
    notesSkips: false,
    readsIngress: false,
    additionalEnvOn: 'object',
    ownerLabels: ['cronjob', 'daemonset', 'deployment', 'job', 'replicaset', 'replicationcontroller', 'statefulset'],
    labelsOwnersOfPods: false,
    writesTyped: true,
    optsNamespacesIn: true,
  },
};
