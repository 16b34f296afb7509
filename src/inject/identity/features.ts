import type { Values } from '../../values/keys.js';

/** What an API server was seen to do: `unknown` where we were not allowed to look. */
export type Seen = 'on' | 'off' | 'unknown';

/**
 * Features of the API server that an identity may need. With its gate off it stores an empty volume source with a mere
 * warning, while its OpenAPI still lists the field: only its metrics tell. Offline nothing is known, and nothing is said.
 */
export interface Features {
  readonly podCertificate?: Seen;
  readonly clusterTrustBundle?: Seen;
}

interface FeatureRow {
  readonly feature: keyof Features;
  /** Gates that must all be on, as `kubernetes_feature_enabled` names them. */
  readonly gates: readonly string[];
  readonly says: string;
  readonly isNeeded: (values: Values) => boolean;
}

/** Every feature, the gates behind it, and when it is needed. */
export const features: readonly FeatureRow[] = [
  {
    feature: 'podCertificate',
    gates: ['PodCertificateRequest'],
    says: 'Pod certificates (Kubernetes 1.35 and later, feature gate PodCertificateRequest)',
    isNeeded: ({ signet }) => signet.identity.source === 'podCertificate',
  },
  {
    feature: 'clusterTrustBundle',
    gates: ['ClusterTrustBundle', 'ClusterTrustBundleProjection'],
    says: 'ClusterTrustBundle volumes (feature gates ClusterTrustBundle and ClusterTrustBundleProjection)',
    isNeeded: ({ signet }) => signet.trustRoots.source === 'clusterTrustBundle',
  },
];

/** Whether some Pod could need one of them: reading the metrics of a large cluster is not for nothing. */
export function needsFeatures(values: Values): boolean {
  const { identity, trustRoots } = values.signet;
  return (
    identity.source === 'podCertificate' ||
    identity.podCertificate.signerName !== '' ||
    trustRoots.source === 'clusterTrustBundle'
  );
}

/** Nothing could be seen. */
export const unknownFeatures: Features = { podCertificate: 'unknown', clusterTrustBundle: 'unknown' };

/** The first feature that is needed and was seen to be off. */
export function missingFeature(seen: Features, values: Values): string | undefined {
  return features.find(({ feature, isNeeded }) => seen[feature] === 'off' && isNeeded(values))?.says;
}

/** A warning for each feature that is needed and could not be looked at. */
export function unseenFeatures({ features: seen }: { readonly features: Features }, values: Values): readonly string[] {
  return features
    .filter(({ feature, isNeeded }) => seen[feature] === 'unknown' && isNeeded(values))
    .map(({ says }) => `signet may not read /metrics of the API server, so it cannot tell whether it has ${says}`);
}
