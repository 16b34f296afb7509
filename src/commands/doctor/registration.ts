import { difference } from '../../inject/difference.js';
import { webhookConfiguration } from '../../install/registration.js';
import { whyNotSelected } from '../../install/selector.js';
import { at, type Json, type JsonObject, listAt, objectAt, textAt } from '../../json.js';
import { beware, broken, type Check, type Context, configurations, type Said, well } from './context.js';

const group = 'registration';
const reinstall =
  'run `signet install | kubectl apply --server-side -f -` with this version; --force-conflicts takes back what was changed by hand';

/** Is the API server told to ask us, and nobody else, about these Pods? */
export const registrationChecks: readonly Check[] = [
  { group, check: 'the webhook configuration is there', section: '#install', run: isThere },
  { group, check: 'its entries are as this version makes them', section: '#install', run: isAsMade },
  {
    group,
    check: 'no other injector is registered for the same Pods',
    section: '#coming-from-linkerds-own-injector',
    run: isAlone,
  },
];

async function isThere(context: Context): Promise<Said> {
  const configuration = await context.configuration();
  const entries = listAt(configuration, 'webhooks').length;
  return entries === 0 ? broken('it has no entries', reinstall) : well(`${entries} entries`);
}

async function isAsMade(context: Context): Promise<Said> {
  const found = listAt(await context.configuration(), 'webhooks');
  const wanted = listAt(webhookConfiguration(await context.options()), 'webhooks');
  for (const entry of wanted) {
    const name = textAt(entry, 'name') ?? '';
    const own = found.find((one) => textAt(one, 'name') === name);
    if (own === undefined) return broken(`entry ${name} is missing`, reinstall);
    const place = difference(own, entry);
    if (place !== undefined) return broken(`entry ${name} differs at ${place}`, reinstall);
  }
  const extra = found.find((one) => !wanted.some((entry) => textAt(entry, 'name') === textAt(one, 'name')));
  return extra === undefined ? well() : broken(`entry ${textAt(extra, 'name')} is not of this version`, reinstall);
}

/** How the injectors of other meshes show: by the configuration or the Service it leads to. */
const injectors =
  /linkerd-proxy-injector|istio-sidecar-injector|sidecar-injector\.istio|kuma-injector|consul.*connect-injector|dapr-sidecar-injector/;

async function isAlone(context: Context): Promise<Said> {
  const optedIn = await context.optedIn();
  for await (const configuration of context.api.items(configurations)) {
    const name = textAt(objectAt(configuration, 'metadata'), 'name') ?? '';
    for (const entry of listAt(configuration, 'webhooks')) {
      if (!isInjector(name, entry) || !asksForPods(entry)) continue;
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
