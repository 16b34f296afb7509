import { at, isObject, listAt, objectAt, textAt } from '../json.js';
import { type Api, ApiError } from './api.js';

const path = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const manager = 'signet-ca';

/**
 * Sees to it that every entry of our webhook configuration trusts a bundle. By JSON Patch, which tests the name of each entry
 * before it sets the one field: applying the field by itself reorders the list of entries, and a later apply that drops
 * one then fails (tried on 1.36). True when something had to be set.
 */
export async function registerBundle(api: Api, name: string, bundle: string): Promise<boolean> {
  const encoded = Buffer.from(bundle).toString('base64');
  for (let tries = 0; ; tries++) {
    const configuration = await api.get(`${path}/${name}`);
    const operations = listAt(configuration, 'webhooks').flatMap((entry, index) => {
      const known = textAt(objectAt(entry, 'clientConfig'), 'caBundle');
      if (known === encoded || !isObject(entry)) return [];
      return [
        { op: 'test', path: `/webhooks/${index}/name`, value: at(entry, 'name') ?? '' },
        { op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: encoded },
      ];
    });
    if (operations.length === 0) return false;
    try {
      await api.patch(`${path}/${name}`, operations, manager);
      return true;
    } catch (error) {
      // The entries have changed meanwhile, and a test of a name failed: look again.
      if (!(error instanceof ApiError && (error.status === 409 || error.status === 422)) || tries >= 4) throw error;
    }
  }
}

/** The bundle by which the API server verifies us, as it stands now; nothing when an entry has none or another. */
export async function registeredBundle(api: Api, name: string): Promise<string | undefined> {
  const configuration = await api.get(`${path}/${name}`);
  const bundles = new Set(
    listAt(configuration, 'webhooks').map((entry) => textAt(objectAt(entry, 'clientConfig'), 'caBundle') ?? ''),
  );
  const [only] = bundles;
  return bundles.size === 1 && only ? Buffer.from(only, 'base64').toString('utf8') : undefined;
}
