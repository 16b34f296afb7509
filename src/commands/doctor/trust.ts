import { ApiError } from '../../cluster/api.js';
import { trustAnchors } from '../../inject/identity/trust-roots.js';
import { entryOf, objectAt } from '../../json.js';
import { pemBlocks } from '../../values/pem.js';
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
    return pemBlocks(text).length > expired.length
      ? beware(`expired, beside others that are valid: ${expired.join(', ')}`, 'take it out')
      : broken(`expired: ${expired.join(', ')}`, 'bring in a new root, then take the old one out');
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
  const home = values.signet.controlPlaneNamespace;
  const wanted = pemBlocks((await textIn(context, home)) ?? '').map(({ text }) => text);
  const missing: string[] = [];
  const unusable: string[] = [];
  const behind: string[] = [];
  for (const { name } of optedIn) {
    const text = await textIn(context, name);
    if (text === undefined) missing.push(name);
    else if (firstExpiry(text) === undefined || expiredIn(text, Date.now()).length === pemBlocks(text).length)
      unusable.push(name);
    else if (wanted.some((one) => !text.includes(one))) behind.push(name);
  }
  if (missing.length > 0)
    return broken(
      `ConfigMap ${configMap.name} is not in ${some(missing)}`,
      'set signet.trustRoots.distribute to true and look at the log of signet, or bring it there yourself',
    );
  if (unusable.length > 0)
    return broken(
      `ConfigMap ${configMap.name} holds no valid certificate in ${some(unusable)}`,
      'delete it there: signet makes another copy where signet.trustRoots.distribute is true',
    );
  return behind.length > 0
    ? beware(
        `ConfigMap ${configMap.name} lacks roots of namespace ${home} in ${some(behind)}`,
        'signet follows within seconds where the copy is its own; one that you made yourself is yours to update',
      )
    : well(`${optedIn.length} ${optedIn.length === 1 ? 'namespace' : 'namespaces'}`);
}

function some(names: readonly string[]): string {
  return `${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}`;
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
