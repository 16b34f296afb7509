import { ApiError } from '../../cluster/api.js';
import { trustAnchors } from '../../inject/identity/trust-roots.js';
import { entryOf, objectAt } from '../../json.js';
import { expiredIn, firstExpiry } from '../certificates.js';
import { beware, broken, type Check, type Context, type Said, well } from './context.js';

const day = 86_400_000;
/** A new root has to reach every Pod, which takes a restart of each: two months are not much. */
const early = 60 * day;

/** Can every Pod that opted in verify its peers, and until when? */
export const trustChecks: readonly Check[] = [
  { group: 'trust', check: 'the trust roots are there and valid', section: '#identities', run: areValid },
  { group: 'trust', check: 'every namespace that opted in has them', section: '#identities', run: arePresent },
];

async function areValid(context: Context): Promise<Said> {
  const { values } = await context.values();
  const { source, configMap } = values.signet.trustRoots;
  if (source === 'clusterTrustBundle') return well('they come from a ClusterTrustBundle, which its signer looks after');
  const text = source === 'inline' ? trustAnchors(values) : await textIn(context, values.signet.controlPlaneNamespace);
  if (text === undefined)
    return broken(
      `there is no ${configMap.key} in ConfigMap ${values.signet.controlPlaneNamespace}/${configMap.name}`,
      'without it Pods wait in ContainerCreating: is the control plane installed?',
    );
  const expired = expiredIn(text, Date.now());
  if (expired.length > 0)
    return broken(`expired: ${expired.join(', ')}`, 'bring in a new root, then take the old one out');
  const last = firstExpiry(text);
  if (last === undefined) return beware('there is no certificate in them that can be read', 'look at the ConfigMap');
  const left = Math.floor((last - Date.now()) / day);
  return last - Date.now() < early
    ? beware(`the first expires in ${left} days`, 'begin to bring in the next one')
    : well(`the first expires in ${left} days`);
}

async function arePresent(context: Context): Promise<Said> {
  const { values } = await context.values();
  const optedIn = await context.optedIn();
  const { source, configMap } = values.signet.trustRoots;
  if (source !== 'configMap') return well('they need no ConfigMap');
  const missing: string[] = [];
  for (const { name } of optedIn) if ((await textIn(context, name)) === undefined) missing.push(name);
  const count = `${optedIn.length} ${optedIn.length === 1 ? 'namespace' : 'namespaces'}`;
  return missing.length === 0
    ? well(count)
    : broken(
        `ConfigMap ${configMap.name} is not in ${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ', …' : ''}`,
        'set signet.trustRoots.distribute to true and look at the log of signet, or bring it there yourself',
      );
}

async function textIn(context: Context, namespace: string): Promise<string | undefined> {
  const { configMap } = (await context.values()).values.signet.trustRoots;
  try {
    const found = await context.api.get(`/api/v1/namespaces/${namespace}/configmaps/${configMap.name}`);
    return entryOf(objectAt(found, 'data'), configMap.key);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
