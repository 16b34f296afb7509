import { profilesOf } from '../inject/identity/choose.js';
import { identityVolumes } from '../inject/identity/layouts.js';
import { identityName, trustDomain } from '../inject/identity/naming.js';
import * as names from '../inject/names.js';
import type { Values } from '../values/keys.js';
import { defaultSpiffeId, type SpiffeIdTemplate } from '../values/profiles.js';
import type { Piece } from '../values/template.js';
import type { InstallOptions } from './options.js';

/** What of an installation follows from the values. */
export type FromValues = Pick<
  InstallOptions,
  'excludedNamespaces' | 'sidecar' | 'identityVolumes' | 'spiffeIds' | 'dnsNameTemplate' | 'trustRoots'
>;

const spire = {
  Namespace: '{{ .PodMeta.Namespace }}',
  ServiceAccount: '{{ .PodSpec.ServiceAccountName }}',
  Workload: `{{ index .PodMeta.Labels "${names.workloadLabel}" }}`,
} as const;

/** Reads off the values what the manifests need to agree with the webhook. */
export function fromValues(values: Values): FromValues {
  const { signet } = values;
  // Of every source: the socket may come beside another one.
  const profiles = profilesOf(values);
  return {
    excludedNamespaces: signet.excludedNamespaces,
    sidecar: signet.sidecar.image === '' ? names.containers.proxy : signet.sidecar.name,
    identityVolumes: identityVolumes(values),
    spiffeIds: [
      { profile: '', template: spireTemplate(defaultSpiffeId, values) },
      ...profiles.map(({ name, spiffeID }) => ({ profile: name, template: spireTemplate(spiffeID, values) })),
    ],
    dnsNameTemplate: identityName(values, spire.ServiceAccount, spire.Namespace),
    trustRoots: signet.trustRoots.configMap.name,
  };
}

/** The same ID in the words of SPIRE's controller, so that the agent issues what the Pod is told to expect. */
function spireTemplate({ trustDomain: domain, path }: SpiffeIdTemplate, values: Values): string {
  const write = (piece: Piece): string => {
    if ('text' in piece) return piece.text;
    if ('label' in piece) return `{{ index .PodMeta.Labels "${piece.label}" }}`;
    return piece.field === 'TrustDomain' ? trustDomain(values) : spire[piece.field];
  };
  return `spiffe://${[...domain, ...path].map(write).join('')}`;
}
