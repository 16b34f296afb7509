import { isObject, listAt, objectAt } from '../../json.js';
import type { Values } from '../../values/keys.js';
import type { Parts } from '../build/build.js';

/** What an API server was seen to do: `unknown` where it could not be seen. */
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
  /** Also the key of the projected source that needs it. */
  readonly feature: keyof Features;
  /** Gates that must all be on, as `kubernetes_feature_enabled` names them. */
  readonly gates: readonly string[];
  readonly says: string;
  /** Whether some Pod could need it: reading the metrics of a large cluster is not for nothing. */
  readonly couldMatter: (values: Values) => boolean;
}

/** Every feature, the gates behind it, and when it can matter. */
export const features: readonly FeatureRow[] = [
  {
    feature: 'podCertificate',
    gates: ['PodCertificateRequest'],
    says: 'Pod certificates (Kubernetes 1.35 and later, feature gate PodCertificateRequest)',
    // Without a signer no source, profile or annotation can bring one.
    couldMatter: ({ signet }) => signet.identity.podCertificate.signerName !== '',
  },
  {
    feature: 'clusterTrustBundle',
    gates: ['ClusterTrustBundle', 'ClusterTrustBundleProjection'],
    says: 'ClusterTrustBundle volumes (feature gates ClusterTrustBundle and ClusterTrustBundleProjection)',
    couldMatter: ({ signet }) => signet.trustRoots.source === 'clusterTrustBundle',
  },
];

/** Nothing could be seen. */
export const unknownFeatures: Features = { podCertificate: 'unknown', clusterTrustBundle: 'unknown' };

/** The first feature that the parts of a Pod need and that was seen to be off. */
export function missingFeature(seen: Features, parts: Parts): string | undefined {
  return features.find(({ feature }) => seen[feature] === 'off' && isUsed(parts, feature))?.says;
}

/** A warning for each feature that the parts of a Pod need and that could not be seen. */
export function unseenFeatures(seen: Features, parts: Parts): readonly string[] {
  return features.filter(({ feature }) => seen[feature] === 'unknown' && isUsed(parts, feature)).map(unseenText);
}

/** The same for every Pod that these values could make. */
export function unseenFor(seen: Features, values: Values): readonly string[] {
  return features
    .filter(({ feature, couldMatter }) => seen[feature] === 'unknown' && couldMatter(values))
    .map(unseenText);
}

function unseenText({ says }: FeatureRow): string {
  return `signet could not see in /metrics of the API server whether it has ${says}`;
}

function isUsed({ volumes }: Parts, feature: keyof Features): boolean {
  return volumes.some((volume) =>
    listAt(objectAt(volume, 'projected'), 'sources').some(
      (source) => isObject(source) && Object.hasOwn(source, feature),
    ),
  );
}
