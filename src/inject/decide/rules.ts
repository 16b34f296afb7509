import { at, entryOf, listAt, objectAt, pointer, textAt } from '../../json.js';
import type { Values } from '../../values/keys.js';
import { nearest } from '../../values/nearest.js';
import { missingFeature } from '../identity/features.js';
import { hasSocket } from '../identity/identity.js';
import { readerOf } from '../identity/layouts.js';
import { trustAnchors } from '../identity/trust-roots.js';
import type { Mesh } from '../mesh.js';
import * as names from '../names.js';
import type { Origin } from '../origin.js';
import type { Plan } from '../plan.js';
import { enforcedLevel } from '../pod-security.js';
import { flawOf, type Workload } from '../workload.js';
import { asks, isUnknownWord, type Namespace, type OptIn } from './opt-in.js';
import { carriesIdentity, meshSidecar, nameClash } from './sidecars.js';

/** What a rule may look at. */
export interface Case {
  readonly workload: Workload;
  readonly namespace: Namespace;
  readonly optIn: OptIn;
  readonly values: Values;
  readonly origin: Origin;
  readonly mesh: Mesh;
  /** What would be done to the Pod; worked out when the first rule asks. */
  readonly plan: () => Plan;
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

/** Whether the namespace only wants to know what would happen. */
export function isAudited({ namespace, origin }: Pick<Case, 'namespace' | 'origin'>): boolean {
  return origin.honoursExclusions && entryOf(namespace.annotations, names.modeKey) === 'audit';
}

const found = (condition: boolean, detail = ''): string | undefined => (condition ? detail : undefined);

/**
 * Every rule in the order of asking; the first that applies decides. The middle part is Linkerd's, in its order. A Pod
 * that passes them all is injected.
 */
export const rules = [
  {
    code: 'malformed_pod',
    says: 'this is no Pod that Kubernetes would take',
    advice: 'correct it; the API server says the rest',
    finds: ({ workload }) => {
      const flaw = flawOf(workload);
      return flaw && `${flaw.message}, at ${pointer(flaw.path)}`;
    },
  },
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
    advice:
      'in the network of the node a proxy would catch the traffic of every Pod there: set hostNetwork to false, or ask for identity alone with signet.dev/inject: identity',
    finds: ({ workload, optIn }) => found(at(workload.spec, 'hostNetwork') === true && !optIn.alone),
  },
  {
    code: 'sidecar_already_exists',
    says: 'the Pod has a mesh sidecar already',
    advice: 'nothing to do, or take it out with `signet uninject` first',
    finds: ({ workload, values, optIn }) => (optIn.alone ? undefined : meshSidecar(workload, values)?.name),
  },
  {
    code: 'invalid_inject_annotation_at_ns',
    says: 'the namespace has a value for linkerd.io/inject that is none of enabled, disabled, ingress',
    advice: 'correct the value on the namespace',
    finds: ({ optIn, origin }) =>
      found(origin.needsOptIn && isUnknownWord(optIn.namespace), JSON.stringify(optIn.namespace)),
  },
  {
    code: 'invalid_signet_inject_at_workload',
    says: 'the Pod has a value for signet.dev/inject that is not identity',
    advice: 'correct the value in the Pod template; the mesh as a whole is asked for with linkerd.io/inject: enabled',
    finds: ({ optIn }) => found(optIn.workload.startsWith(names.injectIdentityKey), optIn.workload),
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
    finds: ({ optIn, origin, workload, namespace }) => {
      if (!origin.needsOptIn || asks(optIn.namespace) || asks(optIn.workload)) return undefined;
      return misplacedOptIn(workload) || slippedOptIn(workload, namespace);
    },
  },
  {
    code: 'disabled_automount_service_account_token_account',
    says: 'the Pod mounts no ServiceAccount token, and identity.serviceAccountTokenProjection is false',
    advice: 'set identity.serviceAccountTokenProjection to true, or let the Pod mount its token',
    finds: ({ workload, values, origin, plan, optIn }) =>
      found(
        !values.identity.serviceAccountTokenProjection &&
          !mountsToken(workload, origin) &&
          plan().settings.values.signet.identity.source === 'token' &&
          !optIn.alone,
      ),
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
    code: 'identity_already_there',
    says: 'the Pod has this identity already',
    advice: 'nothing to do',
    finds: ({ workload, optIn, plan }) => found(optIn.alone && carriesIdentity(workload, plan())),
  },
  {
    code: 'identity_not_for_this_proxy',
    says: 'the Linkerd proxy cannot use this identity',
    advice:
      'choose source token or spire for Pods with the Linkerd proxy, or use the identity without it: signet.dev/inject: identity, or a signet.sidecar that reads files',
    finds: ({ optIn, plan }) => notForLinkerd(plan().settings.values, optIn.alone),
    outcome: () => 'refuse',
  },
  {
    code: 'identity_incomplete',
    says: 'the values do not say what this identity needs',
    advice: 'set it in the values, or choose another source',
    finds: ({ plan }) => {
      const { source, podCertificate } = plan().settings.values.signet.identity;
      const isMissing = source === 'podCertificate' && podCertificate.signerName === '';
      return found(isMissing, 'signet.identity.podCertificate.signerName is empty');
    },
    outcome: () => 'refuse',
  },
  {
    code: 'api_server_lacks_feature',
    says: 'the API server does not have what this identity needs',
    advice: 'switch the feature gate on, or choose another source; with the gate off the volume would be stored empty',
    finds: ({ mesh, plan }) => missingFeature(mesh.features, plan().parts),
    outcome: () => 'refuse',
  },
  {
    code: 'host_path_forbidden',
    says: 'the socket of the SPIRE agent would come by hostPath, which the Pod Security level of the namespace forbids',
    advice: 'set signet.spire.volume to csi, and install the driver csi.spiffe.io',
    finds: ({ namespace, plan }) => {
      const { values } = plan().settings;
      const level = enforcedLevel(namespace);
      return hasSocket(values) && values.signet.spire.volume === 'hostPath' ? level : undefined;
    },
    outcome: () => 'refuse',
  },
  {
    code: 'spiffe_id_invalid',
    says: 'the SPIFFE ID of the Pod breaks the rules for one',
    advice:
      'correct spiffeID of the profile in the values (without a profile: identityTrustDomain), or what it is made of on the Pod',
    finds: ({ plan }) => {
      const { spiffeId } = plan();
      return spiffeId !== undefined && 'flaw' in spiffeId ? spiffeId.flaw : undefined;
    },
    outcome: () => 'refuse',
  },
  {
    code: 'no_workload_api',
    says: 'containers are named for a Workload API that the Pod does not have',
    advice: `ask for it with ${names.kumaDesign}: enabled or ${names.identityKey}: spire, or take ${names.containersKey} off`,
    finds: ({ optIn, plan }) => {
      const { values, containers } = plan().settings;
      return found(containers !== undefined && !optIn.alone && !hasSocket(values));
    },
    outcome: () => 'refuse',
  },
  {
    code: 'name_clash',
    says: 'the Pod has a container, volume or mount that is in the way of ours',
    advice: 'rename it; a mount, put elsewhere',
    finds: ({ workload, plan }) => {
      const clash = nameClash(workload, plan());
      return clash && `${clash.name} at ${pointer([...workload.path, ...clash.path])}`;
    },
    outcome: ({ values }) => values.signet.onNameClash,
  },
  {
    code: 'audit_mode',
    says: 'the namespace is in audit mode (signet.dev/mode: audit)',
    advice: 'take the annotation off the namespace',
    finds: (one) => found(isAudited(one)),
  },
] as const satisfies readonly Rule[];

/** It knows its own identity service and SPIRE, and takes its trust anchors from a variable. */
function notForLinkerd(values: Values, alone: boolean): string | undefined {
  if (readerOf(values, alone) !== 'linkerd') return undefined;
  const { identity, trustRoots } = values.signet;
  if (identity.source === 'podCertificate')
    return 'it knows only its own identity service and SPIRE, and reads no certificate files';
  return trustRoots.source === 'clusterTrustBundle' && trustAnchors(values) === ''
    ? 'it takes its trust anchors from a variable, which no ClusterTrustBundle can fill, and identityTrustAnchorsPEM is empty'
    : undefined;
}

/** An annotation on the Deployment where it does nothing is the commonest reason for a Pod that was not injected. */
function misplacedOptIn({ object, path }: Workload): string {
  const metadata = objectAt(object, 'metadata');
  const says = (map: string, key: string) => entryOf(at(metadata, map), key) ?? '';
  const misplaced = ['annotations', 'labels'].find(
    (map) => asks(says(map, names.injectKey)) || says(map, names.injectIdentityKey) === 'identity',
  );
  if (path.length === 0 || misplaced === undefined) return '';
  return `it is among the ${misplaced} of the object itself, and belongs to ${pointer([...path, 'metadata', misplaced])}`;
}

/** A key that nobody knows and that looks like the one that was meant. */
function slippedOptIn({ annotations, labels }: Workload, namespace: Namespace): string {
  const holders = [
    ['Pod', annotations],
    ['Pod', labels],
    ['namespace', namespace.annotations],
    ['namespace', namespace.labels],
  ] as const;
  for (const [on, map] of holders)
    for (const key of Object.keys(map)) {
      if (!/inj/i.test(key) || key === names.injectKey) continue;
      const isMisplaced = key === names.injectIdentityKey && on === 'namespace';
      if (isMisplaced) return `${key} is for Pods, and stands on the namespace`;
      const near = nearest(key, [names.injectKey, names.injectIdentityKey], 7);
      if (near !== undefined && near !== key) return `${key} on the ${on} means nothing; it may be meant as ${near}`;
    }
  return '';
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
