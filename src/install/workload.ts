import type { JsonObject } from '../json.js';
import { type InstallOptions, labels, objects, ports, selector } from './options.js';

const valuesPath = '/etc/signet';

/** A namespace of its own, in which only what is restricted may run, and in which no webhook of a mesh has a say. */
export function ownNamespace({ namespace }: InstallOptions): readonly JsonObject[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: namespace,
        labels: {
          ...labels,
          'config.linkerd.io/admission-webhooks': 'disabled',
          'pod-security.kubernetes.io/enforce': 'restricted',
        },
      },
    },
  ];
}

/** The account and the values. */
export function foundations({ namespace, values }: InstallOptions): readonly JsonObject[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: objects.account, namespace, labels },
      automountServiceAccountToken: false,
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: objects.values, namespace, labels },
      data: { 'values.yaml': values },
    },
  ];
}

/** What runs: two replicas that no drain takes away at once, and the Service before them. */
export function workload(options: InstallOptions): readonly JsonObject[] {
  const { namespace } = options;
  return [
    deployment(options),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: objects.service, namespace, labels },
      spec: { selector, ports: [{ name: 'https', port: 443, targetPort: 'https' }] },
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: objects.account, namespace, labels },
      spec: { minAvailable: 1, selector: { matchLabels: selector } },
    },
    {
      // From where the API server comes no selector can say, so the port is open to all; nothing else is.
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: objects.account, namespace, labels },
      spec: {
        podSelector: { matchLabels: selector },
        policyTypes: ['Ingress'],
        ingress: [
          {
            ports: [
              { port: 'https', protocol: 'TCP' },
              { port: 'admin', protocol: 'TCP' },
            ],
          },
        ],
      },
    },
  ];
}

function deployment({ namespace, image, replicas }: InstallOptions): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: objects.account, namespace, labels: { ...labels, ...selector } },
    spec: {
      replicas,
      selector: { matchLabels: selector },
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels: { ...labels, ...selector } },
        spec: {
          automountServiceAccountToken: true,
          containers: [container(image)],
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          priorityClassName: 'system-cluster-critical',
          securityContext: {
            fsGroup: 65532,
            runAsGroup: 65532,
            runAsNonRoot: true,
            runAsUser: 65532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          serviceAccountName: objects.account,
          terminationGracePeriodSeconds: 30,
          topologySpreadConstraints: [
            {
              labelSelector: { matchLabels: selector },
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
            },
          ],
          volumes: [{ name: 'values', configMap: { name: objects.values } }],
        },
      },
    },
  };
}

function container(image: string): JsonObject {
  return {
    name: 'signet',
    image,
    args: [
      'serve',
      '--addr',
      `:${ports.https}`,
      '--admin-addr',
      `:${ports.admin}`,
      '--values',
      `${valuesPath}/values.yaml`,
    ],
    env: [
      { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
      { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
    ],
    ports: [
      { name: 'https', containerPort: ports.https },
      { name: 'admin', containerPort: ports.admin },
    ],
    livenessProbe: { httpGet: { path: '/live', port: 'admin' }, periodSeconds: 10 },
    readinessProbe: { httpGet: { path: '/ready', port: 'admin' }, periodSeconds: 2 },
    resources: { limits: { memory: '256Mi' }, requests: { cpu: '100m', memory: '96Mi' } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true },
    volumeMounts: [{ name: 'values', mountPath: valuesPath, readOnly: true }],
  };
}
