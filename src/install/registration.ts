import { type Condition, isInjected, optedIn, optedOut } from '../inject/decide/conditions.js';
import * as names from '../inject/names.js';
import type { JsonObject } from '../json.js';
import { toCel } from './cel.js';
import { type Entry, entries } from './entries.js';
import { type InstallOptions, labels, objects } from './options.js';

const optInLabel = { key: names.injectKey, values: ['enabled', 'ingress'] } as const;

interface Match {
  readonly namespaces: readonly JsonObject[];
  readonly condition: Condition | undefined;
}

/** Which namespaces and Pods each entry is for, beside what no entry is ever for. */
const matches: { readonly [name in Entry['name']]: (options: ConditionOptions) => Match } = {
  namespace: () => ({ namespaces: [{ ...optInLabel, operator: 'In' }], condition: { not: optedOut } }),
  pod: () => ({ namespaces: [{ ...optInLabel, operator: 'NotIn' }], condition: optedIn }),
  // Beside the Pods that did not ask, those that ask and show no injection yet: a webhook that runs after us may have opted
  // one in, and an entry that did not match the first time is not called when the Pod comes again.
  rest: ({ sidecar, identityVolumes }) => ({
    namespaces: [{ ...optInLabel, operator: 'NotIn' }],
    condition: { not: { all: [optedIn, isInjected(sidecar, identityVolumes)] } },
  }),
  services: () => ({ namespaces: [], condition: undefined }),
};

/** What a condition depends on beside the rules. */
export type ConditionOptions = Pick<InstallOptions, 'sidecar' | 'identityVolumes'>;

/** The condition of an entry, for whoever wants to evaluate it. */
export function conditionOf(name: Entry['name'], options: ConditionOptions): Condition | undefined {
  return matches[name](options).condition;
}

/** The webhook configuration. It has no `caBundle`: that is set by whoever owns the certificate, and by nobody else. */
export function webhookConfiguration(options: InstallOptions): JsonObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: objects.webhook, labels },
    webhooks: entries.map((entry) => webhook(entry, options)),
  };
}

function webhook({ name, path, failurePolicy, resource }: Entry, options: InstallOptions): JsonObject {
  const { namespaces, condition } = matches[name](options);
  return {
    name: `${name}.signet.dev`,
    admissionReviewVersions: ['v1'],
    clientConfig: clientConfig(options, path),
    failurePolicy,
    matchPolicy: 'Equivalent',
    namespaceSelector: { matchExpressions: [...neverNamespaces(options), ...namespaces] },
    objectSelector: {
      matchExpressions: [names.controlPlaneComponent, names.cniResource].map((key) => ({
        key,
        operator: 'DoesNotExist',
      })),
    },
    reinvocationPolicy: 'IfNeeded',
    rules: [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource], scope: 'Namespaced' },
    ],
    sideEffects: 'NoneOnDryRun',
    timeoutSeconds: 5,
    ...(condition === undefined ? {} : { matchConditions: [{ name: 'concerns-us', expression: toCel(condition) }] }),
  };
}

function clientConfig({ url, namespace }: InstallOptions, path: string): JsonObject {
  if (url !== '') return { url: `${url.replace(/\/+$/, '')}${path}` };
  return { service: { name: objects.service, namespace, path, port: 443 } };
}

/** The namespaces that nothing is ever asked about: without them the cluster could not start again, nor could we. */
export function neverNamespaces({ excludedNamespaces, namespace }: InstallOptions): readonly JsonObject[] {
  return [
    {
      key: 'kubernetes.io/metadata.name',
      operator: 'NotIn',
      values: [...new Set([...excludedNamespaces, namespace])].sort(),
    },
    { key: names.admissionWebhooks, operator: 'NotIn', values: ['disabled'] },
  ];
}
