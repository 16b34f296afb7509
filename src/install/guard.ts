import * as names from '../inject/names.js';
import type { JsonObject } from '../json.js';
import { type InstallOptions, labels, objects } from './options.js';
import { neverNamespaces } from './registration.js';

/** Reads one entry of a map of strings, or an empty text. */
function entry(path: string, key: string): string {
  return `has(${path}) && '${key}' in ${path} ? ${path}['${key}'] : ''`;
}

const variablesFor = (options: InstallOptions): readonly (readonly [name: string, expression: string])[] => [
  ['namespaceLabel', entry('namespaceObject.metadata.labels', names.injectKey)],
  ['namespaceAnnotation', entry('namespaceObject.metadata.annotations', names.injectKey)],
  ['namespaceValue', `variables.namespaceLabel != '' ? variables.namespaceLabel : variables.namespaceAnnotation`],
  ['podLabel', entry('object.metadata.labels', names.injectKey)],
  ['podAnnotation', entry('object.metadata.annotations', names.injectKey)],
  ['podWord', `variables.podLabel != '' ? variables.podLabel : variables.podAnnotation`],
  ['identityLabel', entry('object.metadata.labels', names.injectIdentityKey)],
  ['identityAnnotation', entry('object.metadata.annotations', names.injectIdentityKey)],
  ['identityWord', `variables.identityLabel != '' ? variables.identityLabel : variables.identityAnnotation`],
  [
    'podValue',
    `variables.podLabel == 'disabled' || variables.podAnnotation == 'disabled' ? 'disabled' : (variables.identityWord == 'identity' ? 'enabled' : (variables.identityWord != '' ? 'unknown' : variables.podWord))`,
  ],
  ['isAlone', `variables.podValue != 'disabled' && variables.identityWord == 'identity'`],
  [
    'understood',
    `variables.namespaceValue in ['', 'enabled', 'ingress', 'disabled'] && variables.podValue in ['', 'enabled', 'ingress', 'disabled']`,
  ],
  [
    'asked',
    `variables.understood && variables.podValue != 'disabled' && (variables.namespaceValue in ['enabled', 'ingress'] || variables.podValue in ['enabled', 'ingress'])`,
  ],
  ['containers', `(has(object.spec.initContainers) ? object.spec.initContainers : []) + object.spec.containers`],
  [
    'hasSidecar',
    `variables.containers.exists(c, c.name in [${[...new Set([names.containers.proxy, 'istio-proxy', options.sidecar])].map((one) => `'${one}'`).join(', ')}])`,
  ],
  [
    'hasIdentity',
    `has(object.spec.volumes) && object.spec.volumes.exists(v, v.name in [${options.identityVolumes.map((one) => `'${one}'`).join(', ')}])`,
  ],
  ['isInjected', `variables.isAlone ? variables.hasIdentity : variables.hasSidecar`],
  ['isHostNetwork', `has(object.spec.hostNetwork) && object.spec.hostNetwork && !variables.isAlone`],
  [
    'isWindows',
    `(has(object.spec.os) && object.spec.os.name == 'windows') || (has(object.spec.nodeSelector) && 'kubernetes.io/os' in object.spec.nodeSelector && object.spec.nodeSelector['kubernetes.io/os'] == 'windows')`,
  ],
  ['isMirror', `has(object.metadata.annotations) && '${names.mirrorPod}' in object.metadata.annotations`],
  ['isNoted', `has(object.metadata.annotations) && '${names.skippedKey}' in object.metadata.annotations`],
  [
    'isAudited',
    `${entry('namespaceObject.metadata.annotations', names.modeKey)} == 'audit'`.replace(
      /^(.*) == 'audit'$/,
      `($1) == 'audit'`,
    ),
  ],
];

/**
 * The guard: Pods that ask for injection and come out of all webhooks without it are refused by the API server itself. It
 * sees the namespace's annotations, which no webhook selector can, and so closes the gap that an ignored failure leaves.
 */
export function guard(options: InstallOptions): readonly JsonObject[] {
  const meta = { name: objects.guard, labels };
  const policy: JsonObject = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: meta,
    spec: {
      failurePolicy: 'Ignore',
      matchConstraints: {
        matchPolicy: 'Equivalent',
        namespaceSelector: { matchExpressions: neverNamespaces(options) },
        objectSelector: {
          matchExpressions: [names.controlPlaneComponent, names.cniResource].map((key) => ({
            key,
            operator: 'DoesNotExist',
          })),
        },
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'], scope: 'Namespaced' },
        ],
      },
      variables: variablesFor(options).map(([name, expression]) => ({ name, expression })),
      validations: [
        {
          expression:
            '!variables.asked || variables.isInjected || variables.isHostNetwork || variables.isWindows || variables.isMirror || variables.isNoted || variables.isAudited',
          message: 'signet: this Pod asks for injection and was not injected; is the signet webhook running?',
          reason: 'Forbidden',
        },
      ],
    },
  };
  const binding: JsonObject = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: meta,
    spec: { policyName: objects.guard, validationActions: ['Deny'] },
  };
  return [policy, binding];
}
