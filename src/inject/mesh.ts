import type { Change, Values } from '../values/keys.js';
import { type Loaded, withChanges } from '../values/load.js';
import type { Features } from './identity/features.js';
import { trustAnchors } from './identity/trust-roots.js';

/** What every Pod is judged and built by: the values, and the two things the core cannot know by itself. */
export interface Mesh {
  readonly loaded: Loaded;
  readonly values: Values;
  /** What goes into `linkerd.io/created-by`. */
  readonly createdBy: string;
  /** Hex SHA-256 of the trust anchors, or empty when they are not known. */
  readonly trustRootsChecksum: string;
  /** What the API server was seen to do. */
  readonly features: Features;
  /** The values with some keys set anew; the same changes give the same object, so that results can be kept by it. */
  readonly changed: (changes: readonly Change[]) => Values;
}

/** Pods with the same annotations share their settings; past this many different sets the memory starts over. */
const remembered = 1024;

/** Makes a mesh of values; hashing is handed in, because the core imports nothing of Node. */
export function meshOf(
  loaded: Loaded,
  createdBy: string,
  sha256: (text: string) => string,
  features: Features = {},
): Mesh {
  const anchors = anchorsOf(loaded.values);
  const known = new Map<string, Values>();
  const changed = (changes: readonly Change[]): Values => {
    if (changes.length === 0) return loaded.values;
    const key = JSON.stringify(changes);
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= remembered) known.clear();
    const values = withChanges(loaded, changes);
    known.set(key, values);
    return values;
  };
  return {
    loaded,
    values: loaded.values,
    createdBy,
    features,
    trustRootsChecksum: anchors === '' ? '' : sha256(anchors),
    changed,
  };
}

/** Linkerd hashes its anchors as they stand; with more than one trust domain it is what Pods get. */
function anchorsOf(values: Values): string {
  return Object.keys(values.signet.trustRoots.bundles).length === 0
    ? values.identityTrustAnchorsPEM
    : trustAnchors(values);
}
