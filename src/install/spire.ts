import * as names from '../inject/names.js';
import type { JsonObject } from '../json.js';
import { type InstallOptions, labels, objects } from './options.js';

/**
 * Registers Pods with SPIRE, by the labels that signet gives them. The DNS name is the one that Linkerd's destination service
 * announces for every Pod, and that peers verify: without it in the SVID a proxy is not believed.
 */
export function clusterSpiffeIds({ spiffeIds, dnsNameTemplate }: InstallOptions): readonly JsonObject[] {
  const profiles = spiffeIds.map(({ profile }) => profile).filter((profile) => profile !== '');
  return spiffeIds.map(({ profile, template }) => ({
    apiVersion: 'spire.spiffe.io/v1alpha1',
    kind: 'ClusterSPIFFEID',
    metadata: { name: profile === '' ? objects.account : `${objects.account}-${profile.toLowerCase()}`, labels },
    spec: {
      spiffeIDTemplate: template,
      dnsNameTemplates: [dnsNameTemplate],
      podSelector: {
        matchLabels: {
          [names.spireLabel]: 'enabled',
          ...(profile === '' ? {} : { [names.identityKey]: profile }),
        },
        // Two registrations for one Pod would give it two identities.
        ...(profile === '' && profiles.length > 0
          ? { matchExpressions: [{ key: names.identityKey, operator: 'NotIn', values: profiles }] }
          : {}),
      },
    },
  }));
}
