import { ApiError } from '../../cluster/api.js';
import { difference } from '../../inject/difference.js';
import { guard } from '../../install/guard.js';
import { objects } from '../../install/options.js';
import { webhookConfiguration } from '../../install/registration.js';
import { whyNotSelected } from '../../install/selector.js';
import { at, follow, type Json, type JsonObject, listAt, objectAt, textAt } from '../../json.js';
import { beware, broken, type Check, type Context, configurations, type Said, well } from './context.js';

const group = 'registration';
const reinstall =
  'run `signet install … | kubectl apply --server-side -f -` with this version and the flags of the installation (--url, --values, --with); --force-conflicts takes back what was changed by hand';

/** Is the API server told to ask us, and nobody else, about these Pods? */
export const registrationChecks: readonly Check[] = [
  {
    group,
    check: 'the webhook configuration is there',
    section: '#install',
    without: 'signet is not installed',
    run: isThere,
  },
  { group, check: 'its entries are as this version makes them', section: '#install', run: isAsMade },
  { group, check: 'the guard is there, and refuses', section: '#how-it-works', run: isGuarded },
  {
    group,
    check: 'no other injector is registered for the same Pods',
    section: '#coming-from-linkerds-own-injector',
    run: isAlone,
  },
];

async function isThere(context: Context): Promise<Said> {
  const configuration = await context.configuration().catch(missing);
  if (configuration === undefined)
    return broken(
      `there is no MutatingWebhookConfiguration ${objects.webhook}: the API server asks nobody`,
      'install signet: `signet install … | kubectl apply --server-side -f -`',
    );
  const service = objectAt(objectAt(listAt(configuration, 'webhooks')[0], 'clientConfig'), 'service');
  const there = textAt(service, 'namespace') ?? context.home;
  if (there !== context.home)
    return broken(
      `it leads to namespace ${there}, and namespace ${context.home} was asked about`,
      `run signet doctor --signet-namespace ${there}`,
    );
  const entries = listAt(configuration, 'webhooks').length;
  return entries === 0 ? broken('it has no entries', reinstall) : well(`${entries} entries`);
}

/** Where the API server adds nothing by itself, so that everything there is somebody's word. */
const exact = ['matchConditions', 'namespaceSelector', 'objectSelector'];

async function isAsMade(context: Context): Promise<Said> {
  const found = listAt(await context.configuration(), 'webhooks');
  const wanted = listAt(webhookConfiguration(await context.options()), 'webhooks');
  for (const entry of wanted) {
    const name = textAt(entry, 'name') ?? '';
    const own = found.find((one) => textAt(one, 'name') === name);
    if (own === undefined) return broken(`entry ${name} is missing`, reinstall);
    const place = difference(own, entry);
    if (place !== undefined) return broken(`entry ${name} differs at ${place}`, reinstall);
    const odd = exact.find((key) => difference(at(entry, key), at(own, key) ?? []) !== undefined);
    if (odd !== undefined)
      return broken(
        `entry ${name} has something of its own at /${odd}`,
        'an apply leaves what others added: delete the webhook configuration and install it again',
      );
  }
  const extra = found.find((one) => !wanted.some((entry) => textAt(entry, 'name') === textAt(one, 'name')));
  return extra === undefined ? well() : broken(`entry ${textAt(extra, 'name')} is not of this version`, reinstall);
}

const policies = '/apis/admissionregistration.k8s.io/v1';

/** Without it a Pod that asks by its namespace's annotation slips through while the webhook is away. */
async function isGuarded(context: Context): Promise<Said> {
  const hint = 'install the component guard, unless you have left it out on purpose';
  const read = (kind: string) => context.api.get(`${policies}/${kind}/${objects.guard}`).catch(missing);
  const [policy, binding] = await Promise.all([
    read('validatingadmissionpolicies'),
    read('validatingadmissionpolicybindings'),
  ]);
  if (policy === undefined || binding === undefined) return beware('it is not installed', hint);
  const [wantedPolicy, wantedBinding] = guard(await context.options());
  const place = difference(policy, wantedPolicy ?? null) ?? difference(binding, wantedBinding ?? null);
  if (place !== undefined) return broken(`it differs at ${place}`, reinstall);
  const odd = narrowing.find(([which, path]) => !isNothing(follow({ policy, binding }, [which, ...path.split('/')])));
  return odd === undefined
    ? well()
    : broken(
        `the ${odd[0]} has something of its own at /${odd[1]}, by which it may refuse nothing`,
        'an apply leaves what others added: delete it and install it again',
      );
}

/** What an administrator can add to a policy or its binding that makes it look away. */
const narrowing: readonly (readonly ['policy' | 'binding', string])[] = [
  ['policy', 'spec/matchConditions'],
  ['policy', 'spec/matchConstraints/excludeResourceRules'],
  ['binding', 'spec/matchResources'],
  ['binding', 'spec/paramRef'],
];

function isNothing(value: Json | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function missing(error: unknown): undefined {
  if (!(error instanceof ApiError && error.status === 404)) throw error;
}

/** How the injectors of other meshes show: by the configuration or the Service it leads to. */
const injectors =
  /linkerd-proxy-injector|istio-sidecar-injector|sidecar-injector\.istio|kuma-injector|consul.*connect-injector|dapr-sidecar-injector/;

async function isAlone(context: Context): Promise<Said> {
  const optedIn = await context.optedIn();
  for await (const configuration of context.api.items(configurations)) {
    const name = textAt(objectAt(configuration, 'metadata'), 'name') ?? '';
    for (const entry of listAt(configuration, 'webhooks')) {
      // One that asks for a label of its own on the Pod is for other Pods.
      const isForAll = whyNotSelected(at(entry, 'objectSelector'), {}) === undefined;
      if (!isInjector(name, entry) || !asksForPods(entry) || !isForAll) continue;
      const both = optedIn.find(({ labels }) => whyNotSelected(at(entry, 'namespaceSelector'), labels) === undefined);
      const hint = 'whoever comes first wins: take the other out of the way';
      if (both !== undefined) return broken(`${name} also sees the Pods of namespace ${both.name}`, hint);
      if (optedIn.length === 0) return beware(`${name} is there, and no namespace has opted in yet`, hint);
    }
  }
  return well();
}

function isInjector(name: string, entry: Json): boolean {
  const service = textAt(objectAt(objectAt(entry, 'clientConfig'), 'service'), 'name') ?? '';
  return [name, service, textAt(entry, 'name') ?? ''].some((one) => injectors.test(one));
}

function asksForPods(entry: Json): boolean {
  return listAt(entry, 'rules').some((rule: Json | JsonObject) =>
    listAt(rule, 'resources').some((one) => one === 'pods' || one === '*' || one === '*/*'),
  );
}
