import { ApiError } from '../../cluster/api.js';
import { seeFeatures } from '../../cluster/features.js';
import { features } from '../../inject/identity/features.js';
import { component, objects, selector } from '../../install/options.js';
import { permissions, targetOf } from '../../install/permissions.js';
import { at, entryOf, type JsonObject, listAt, objectAt, textAt } from '../../json.js';
import { isManifestError } from '../../manifest/errors.js';
import type { Values } from '../../values/keys.js';
import { installedValues } from '../cluster.js';
import { mistakeText } from '../documents.js';
import { beware, broken, type Check, type Context, type Said, well } from './context.js';

const trouble = '#when-something-is-wrong';

/** The API server itself: does it answer, does its clock agree with ours, what does it have? */
export const apiChecks: readonly Check[] = [
  {
    group: 'kubernetes-api',
    check: 'the API server answers',
    section: trouble,
    without: 'the API server does not answer',
    run: answers,
  },
  { group: 'kubernetes-api', check: 'its clock agrees with this one', section: trouble, run: clock },
];

/** What this API server and its nodes can do, as far as the values need it. */
export const capabilityChecks: readonly Check[] = [
  {
    group: 'capabilities',
    check: 'the API server has what the values need',
    section: '#identities',
    run: capabilities,
  },
  { group: 'capabilities', check: 'every node can run native sidecars', section: '#values', run: nativeSidecars },
];

/** What runs in the cluster: rights, replicas, values. */
export const workloadChecks: readonly Check[] = [
  { group: 'signet', check: 'its ServiceAccount may do what it must', section: '#install', run: mayDo },
  { group: 'signet', check: 'its replicas are ready, and on different nodes', section: trouble, run: replicas },
  { group: 'signet', check: 'its values are valid', section: '#values', run: valuesHold },
];

async function answers({ api }: Context): Promise<Said> {
  const version = textAt(await api.get('/version'), 'gitVersion') ?? '?';
  const minor = Number(/^v1\.(\d+)/.exec(version)?.[1] ?? 0);
  return minor >= 30
    ? well(version)
    : broken(`${version} has no matchConditions in webhooks`, 'signet needs Kubernetes 1.30 or later');
}

async function clock({ api }: Context): Promise<Said> {
  const seconds = Math.round(Math.abs((await api.time()) - Date.now()) / 1000);
  if (!Number.isFinite(seconds)) return beware('it does not say what time it is', 'compare the clocks by hand');
  const hint = 'certificates are valid from the moment they are made: set the clocks by NTP';
  if (seconds > 300) return broken(`they are ${seconds} s apart`, hint);
  return seconds > 30 ? beware(`they are ${seconds} s apart`, hint) : well(`${seconds} s apart`);
}

async function capabilities(context: Context): Promise<Said> {
  const { values } = await context.values();
  const seen = await seeFeatures(context.api);
  const shown = features.map(({ feature }) => `${feature} ${seen[feature] ?? 'unknown'}`).join(', ');
  const lacking = features.find(({ feature, couldMatter }) => couldMatter(values) && seen[feature] !== 'on');
  if (lacking === undefined) return well(shown);
  const hint = 'switch the gate on at the API server and the kubelets, or choose another source';
  return seen[lacking.feature] === 'off'
    ? broken(`there are no ${lacking.says}`, hint)
    : beware(`cannot tell whether there are ${lacking.says}`, 'run signet doctor as somebody who may read /metrics');
}

/** Native sidecars are on by default from 1.29 on; an older kubelet would run the proxy as an init container that never ends. */
async function nativeSidecars(context: Context): Promise<Said> {
  const { values } = await context.values();
  let oldest: string | undefined;
  for await (const node of context.api.items('/api/v1/nodes')) {
    const version = textAt(objectAt(objectAt(node, 'status'), 'nodeInfo'), 'kubeletVersion') ?? '';
    if (version !== '' && (oldest === undefined || minorOf(version) < minorOf(oldest))) oldest = version;
  }
  if (oldest === undefined) return beware('there is no node that says its version', 'nothing to do in a test');
  if (minorOf(oldest) >= 29) return well(`oldest kubelet ${oldest}`);
  return values.proxy.nativeSidecar
    ? broken(`the oldest kubelet is ${oldest}`, 'set proxy.nativeSidecar to false until all are 1.29 or later')
    : well(`oldest kubelet ${oldest}, and proxy.nativeSidecar is false`);
}

function minorOf(version: string): number {
  return Number(/^v1\.(\d+)/.exec(version)?.[1] ?? 0);
}

/** Asks the API server as signet would: it answers for whoever asks, so an administrator asks in its name. */
async function mayDo(context: Context): Promise<Said> {
  const { api, home } = context;
  const options = await context.options();
  const isSelfSigned = (await deploymentArgs(context)).includes('--self-signed') || options.url !== '';
  const { trustRoots } = (await context.values()).values.signet;
  const isNeeded = {
    base: true,
    'self-signed': isSelfSigned,
    'trust-roots': trustRoots.source === 'configMap' && trustRoots.distribute,
    audit: (await deploymentArgs(context)).includes('--audit-interval'),
  };
  const as = `system:serviceaccount:${home}:${objects.account}`;
  const denied: string[] = [];
  let asked = 0;
  for (const one of permissions) {
    if (!isNeeded[one.component]) continue;
    for (const verb of one.verbs) {
      asked++;
      const attributes: JsonObject =
        one.paths === undefined
          ? {
              resourceAttributes: {
                verb,
                group: one.group,
                resource: one.resource,
                ...(one.names === undefined ? {} : { name: one.names(options)[0] ?? '' }),
                ...(one.scope === 'own' ? { namespace: home } : {}),
              },
            }
          : { nonResourceAttributes: { verb, path: one.paths[0] ?? '' } };
      const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: attributes };
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      const answer = await api.create(path, review, { as });
      if (at(objectAt(answer, 'status'), 'allowed') !== true) denied.push(`${verb} ${targetOf(one)} (${one.why})`);
    }
  }
  return denied.length === 0
    ? well(`${asked} rights`)
    : broken(
        `it may not ${denied.join('; ')}`,
        'install again with the same flags, or leave the component out on purpose',
      );
}

async function deploymentArgs({ api, home }: Context): Promise<string> {
  const deployment = await api.get(`/apis/apps/v1/namespaces/${home}/deployments/${objects.account}`).catch(() => ({}));
  return JSON.stringify(deployment);
}

async function replicas(context: Context): Promise<Said> {
  const { api, home } = context;
  if ((await context.options()).url !== '')
    return beware('signet runs outside of the cluster', 'nothing to do while you develop; not for a cluster of others');
  const deployment = await api.get(`/apis/apps/v1/namespaces/${home}/deployments/${objects.account}`);
  const wanted = Number(at(objectAt(deployment, 'spec'), 'replicas') ?? 0);
  const ready = Number(at(objectAt(deployment, 'status'), 'readyReplicas') ?? 0);
  if (ready < 1) return broken(`none of ${wanted} is ready`, `kubectl logs -n ${home} deploy/${component} says why`);
  const nodes = new Set<string>();
  const labelSelector = Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  for await (const pod of api.items(`/api/v1/namespaces/${home}/pods`, { labelSelector }))
    if (isReady(pod)) nodes.add(textAt(objectAt(pod, 'spec'), 'nodeName') ?? '');
  if (ready < wanted) return beware(`${ready} of ${wanted} ready`, `kubectl get pods -n ${home} says which is not`);
  return nodes.size < 2
    ? beware(`${ready} ready, all on one node`, 'a drain of that node stops them all')
    : well(`${ready} ready`);
}

/** Those that wait, have failed or are going away answer nobody. */
function isReady(pod: JsonObject): boolean {
  const conditions = listAt(objectAt(pod, 'status'), 'conditions');
  return (
    at(objectAt(pod, 'metadata'), 'deletionTimestamp') === undefined &&
    conditions.some((one) => at(one, 'type') === 'Ready' && at(one, 'status') === 'True')
  );
}

async function valuesHold({ api, home }: Context): Promise<Said> {
  const configMap = await api.get(`/api/v1/namespaces/${home}/configmaps/${objects.values}`);
  let values: Values;
  try {
    values = (await installedValues(api, home)).values;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const words = isManifestError(error) ? mistakeText(error) : error instanceof Error ? error.message : String(error);
    return broken(words, `correct ConfigMap ${home}/${objects.values}; until then the last good values are used`);
  }
  const version = entryOf(objectAt(configMap, 'metadata'), 'resourceVersion') ?? '?';
  const proxy = values.proxy.image.version || values.linkerdVersion;
  return well(`resourceVersion ${version}, preset ${values.signet.preset}, proxy ${proxy}`);
}
