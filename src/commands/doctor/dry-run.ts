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
  const answer = await context.api.create(`/api/v1/namespaces/${namespace}/pods`, pod, { query: { dryRun: 'All' } });
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

/** Nothing that a namespace could have against the Pod itself. */
const hardened: JsonObject = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  runAsUser: 65534,
  seccompProfile: { type: 'RuntimeDefault' },
};
