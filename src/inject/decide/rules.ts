import { at, entryOf, listAt, objectAt, pointer, textAt } from '../../json.js';
import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import type { Origin } from '../origin.js';
import type { Workload } from '../workload.js';
import { asks, isUnknownWord, type Namespace, type OptIn } from './opt-in.js';
import { meshSidecar, nameClash } from './sidecars.js';

/** What a rule may look at. */
export interface Case {
  readonly workload: Workload;
  readonly namespace: Namespace;
  readonly optIn: OptIn;
  readonly values: Values;
  readonly origin: Origin;
}

/** What happens to a Pod. */
export type Outcome = 'inject' | 'skip' | 'refuse';

/** One rule: when it applies the Pod is not injected, for the reason that bears the rule's code. */
export interface Rule {
  readonly code: string;
  /** What the Pod or namespace is like when the rule applies. */
  readonly says: string;
  /** What to do for the Pod to be injected. */
  readonly advice: string;
  /** Gives nothing when the Pod passes, otherwise the detail of what was found (empty: the sentence says it all). */
  readonly finds: (one: Case) => string | undefined;
  /** `skip` where nothing else is said. */
  readonly outcome?: (one: Case) => Outcome;
}

const found = (condition: boolean, detail = ''): string | undefined => (condition ? detail : undefined);

/**
 * Every rule in the order of asking; the first that applies decides. The middle part is Linkerd's, in its order. A Pod
 * that passes them all is injected.
 */
export const rules = [
  {
    code: 'namespace_excluded',
    says: 'the namespace is one that is never touched',
    advice: 'run the workload elsewhere, or take the namespace out of signet.excludedNamespaces',
    finds: ({ namespace, values, origin }) =>
      found(origin.honoursExclusions && values.signet.excludedNamespaces.includes(namespace.name), namespace.name),
  },
  {
    code: 'admission_webhooks_disabled',
    says: 'the namespace carries the label config.linkerd.io/admission-webhooks: disabled',
    advice: 'take the label off the namespace',
    finds: ({ namespace, origin }) =>
      found(origin.honoursExclusions && entryOf(namespace.labels, names.admissionWebhooks) === 'disabled'),
  },
  {
    code: 'control_plane_component',
    says: "the Pod is part of the mesh's own control plane",
    advice: 'nothing to do: its proxy comes with the installation of the control plane',
    finds: ({ workload, origin }) => {
      const label = [names.controlPlaneComponent, names.cniResource].find(
        (key) => at(workload.labels, key) !== undefined,
      );
      return found(origin.honoursExclusions && label !== undefined, label);
    },
  },
  {
    code: 'host_network_enabled',
    says: 'hostNetwork is enabled',
    advice: 'set hostNetwork to false: in the network of the node a proxy would catch the traffic of every Pod there',
    finds: ({ workload }) => found(at(workload.spec, 'hostNetwork') === true),
  },
  {
    code: 'sidecar_already_exists',
    says: 'the Pod has a mesh sidecar already',
    advice: 'nothing to do, or take it out with `signet uninject` first',
    finds: ({ workload, values }) => meshSidecar(workload, values)?.name,
  },
  {
    code: 'invalid_inject_annotation_at_ns',
    says: 'the namespace has a value for linkerd.io/inject that is none of enabled, disabled, ingress',
    advice: 'correct the value on the namespace',
    finds: ({ optIn, origin }) =>
      found(origin.needsOptIn && isUnknownWord(optIn.namespace), JSON.stringify(optIn.namespace)),
  },
  {
    code: 'invalid_inject_annotation_at_workload',
    says: 'the Pod has a value for linkerd.io/inject that is none of enabled, disabled, ingress',
    advice: 'correct the value in the Pod template',
    finds: ({ optIn, origin }) =>
      found(origin.needsOptIn && isUnknownWord(optIn.workload), JSON.stringify(optIn.workload)),
  },
  {
    code: 'injection_disable_annotation_present',
    says: 'the Pod has opted out with linkerd.io/inject: disabled',
    advice: 'take the annotation or label off the Pod template',
    finds: ({ optIn, origin }) => found(optIn.workload === 'disabled' && (asks(optIn.namespace) || !origin.needsOptIn)),
  },
  {
    code: 'injection_enable_annotation_absent',
    says: 'neither the namespace nor the Pod asks for injection',
    advice: 'set the annotation linkerd.io/inject: enabled on the namespace or in the Pod template',
    finds: ({ optIn, origin, workload }) =>
      found(origin.needsOptIn && !asks(optIn.namespace) && !asks(optIn.workload), misplacedOptIn(workload)),
  },
  {
    code: 'disabled_automount_service_account_token_account',
    says: 'the Pod mounts no ServiceAccount token, and identity.serviceAccountTokenProjection is false',
    advice: 'set identity.serviceAccountTokenProjection to true, or let the Pod mount its token',
    finds: ({ workload, values, origin }) =>
      found(!values.identity.serviceAccountTokenProjection && !mountsToken(workload, origin)),
  },
  {
    code: 'mirror_pod',
    says: 'the Pod mirrors a static Pod, which the kubelet runs from a file',
    advice: 'inject the file on the node with `signet inject`',
    finds: ({ workload, origin, values }) =>
      found(
        values.signet.skipUnrunnable &&
          origin.honoursExclusions &&
          at(workload.annotations, names.mirrorPod) !== undefined,
      ),
  },
  {
    code: 'windows_pod',
    says: 'the Pod runs on Windows, for which there is no proxy image',
    advice: 'opt the workload out with linkerd.io/inject: disabled',
    finds: ({ workload, values }) => found(values.signet.skipUnrunnable && runsOnWindows(workload)),
  },
  {
    code: 'name_clash',
    says: 'the Pod has a container or volume that bears a name of ours',
    advice: 'rename it',
    finds: ({ workload, values }) => {
      const clash = nameClash(workload, values);
      return clash && `${clash.name} at ${pointer([...workload.path, ...clash.path])}`;
    },
    outcome: ({ values }) => values.signet.onNameClash,
  },
  {
    code: 'audit_mode',
    says: 'the namespace is in audit mode (signet.dev/mode: audit)',
    advice: 'take the annotation off the namespace',
    finds: ({ namespace, origin }) =>
      found(origin.honoursExclusions && entryOf(namespace.annotations, names.modeKey) === 'audit'),
  },
] as const satisfies readonly Rule[];

/** An annotation on the Deployment where it does nothing is the commonest reason for a Pod that was not injected. */
function misplacedOptIn({ object, path }: Workload): string {
  const metadata = objectAt(object, 'metadata');
  const misplaced = ['annotations', 'labels'].find((map) => asks(entryOf(at(metadata, map), names.injectKey) ?? ''));
  if (path.length === 0 || misplaced === undefined) return '';
  return `it is among the ${misplaced} of the object itself, and belongs to ${pointer([...path, 'metadata', misplaced])}`;
}

function mountsToken({ spec, containers, kind }: Workload, origin: Origin): boolean {
  const automount = at(spec, 'automountServiceAccountToken');
  if (automount === false) return false;
  // Only a Pod that the API server has seen carries the mount; a template never does.
  if (!origin.needsOptIn || kind !== 'pod') return true;
  return listAt(containers[0], 'volumeMounts').some((mount) => at(mount, 'mountPath') === names.paths.serviceAccount);
}

function runsOnWindows({ spec }: Workload): boolean {
  return (
    textAt(objectAt(spec, 'os'), 'name') === 'windows' ||
    textAt(objectAt(spec, 'nodeSelector'), 'kubernetes.io/os') === 'windows'
  );
}
