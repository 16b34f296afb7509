import { injectKey } from '../../inject/names.js';
import { at, type JsonObject, listAt, objectAt } from '../../json.js';
import { broken, type Check, type Context, type Said, well } from './context.js';

/** The whole way at once: the API server, its trust in us, our answer, and what becomes of it. */
export const dryRunChecks: readonly Check[] = [
  {
    group: 'injection',
    check: 'a Pod on a dry run comes back injected',
    section: '#when-something-is-wrong',
    run: comesBack,
  },
];

async function comesBack(context: Context): Promise<Said> {
  const namespace = (await context.optedIn()).find(({ name }) => name !== context.home)?.name ?? 'default';
  const { sidecar } = await context.options();
  const pod: JsonObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'signet-doctor-', namespace, annotations: { [injectKey]: 'enabled' } },
    spec: { containers: [{ name: 'app', image: 'registry.example/app:1', securityContext: hardened }] },
  };
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const answer = await context.api.create(path, pod, { query: { dryRun: 'All' } }).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    const known = causes.find(([words]) => words.test(message));
    if (known === undefined) throw error;
    return { refused: `in namespace ${namespace}: ${message}`, hint: known[1] };
  });
  if ('refused' in answer) return broken(String(answer.refused), String(answer.hint));
  const spec = objectAt(answer, 'spec');
  const isThere = [...listAt(spec, 'initContainers'), ...listAt(spec, 'containers')].some(
    (one) => at(one, 'name') === sidecar,
  );
  return isThere
    ? well(`in namespace ${namespace}`)
    : broken(
        `in namespace ${namespace} it came back without ${sidecar}`,
        'the API server did not ask signet, or had no answer: the checks above say which, its log says when',
      );
}

/** What the API server says when it cannot get an answer from us, and what is behind it. */
const causes: readonly (readonly [words: RegExp, hint: string])[] = [
  [
    /context deadline exceeded|Client\.Timeout|i\/o timeout/,
    'the API server does not reach signet in time: a firewall or NetworkPolicy before port 8443 of its Pods, or replicas that are overloaded',
  ],
  [/no endpoints available/, 'no replica is ready: look at the Pods of signet and their logs'],
  [/connection refused|connection reset/, 'nothing answers there: is signet running, and at that address?'],
  [/x509|certificate/i, 'the API server does not believe what signet serves: see the check of caBundle'],
  [/no such host|server misbehaving/, 'the name of the Service cannot be resolved from the API server'],
  [/service "[^"]*" not found/, 'the Service is gone: install again with the same flags'],
  [/signet-guard/, 'the API server did not ask signet, or had no answer, and the guard has held the Pod back'],
  [
    /violates PodSecurity/,
    'the namespace enforces a level that the injected parts do not pass: `signet explain` says which',
  ],
  [/exceeded quota|LimitRange|maximum .* usage/, 'the namespace has a quota or limit that is in the way of the proxy'],
];

/** Nothing that a namespace could have against the Pod itself. */
const hardened: JsonObject = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  runAsUser: 65534,
  seccompProfile: { type: 'RuntimeDefault' },
};
