import { type Features, features, type Seen, unknownFeatures } from '../inject/identity/features.js';
import { type Api, ApiError } from './api.js';

/** Looks up in the API server's own metrics which features it has; being forbidden to look is an answer too. */
export async function seeFeatures(api: Api): Promise<Features> {
  const enabled = new Map<string, boolean>();
  try {
    await api.lines('/metrics', (line) => {
      if (!line.startsWith('kubernetes_feature_enabled{')) return;
      const name = /name="([^"]+)"/.exec(line)?.[1];
      if (name !== undefined) enabled.set(name, /\s1$/.test(line));
    });
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 401)) return unknownFeatures;
    throw error;
  }
  // A gate that is not listed: a server too old for it, or, without any gate at all, one that does not tell.
  const seen = (gates: readonly string[]): Seen => {
    if (enabled.size === 0) return 'unknown';
    return gates.every((gate) => enabled.get(gate) === true) ? 'on' : 'off';
  };
  return Object.fromEntries(features.map(({ feature, gates }) => [feature, seen(gates)]));
}
