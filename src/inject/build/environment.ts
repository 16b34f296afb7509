import { at, isObject, type Json, type JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import { identityName, trustDomain } from '../identity/naming.js';
import * as names from '../names.js';
import { typedEnv } from '../settings/env-vars.js';
import type { PodFacts } from './pod-facts.js';

interface Subject {
  readonly values: Values;
  readonly facts: PodFacts;
  readonly identity: readonly JsonObject[];
}

/** A variable, or several in a row; nothing where the condition of the row does not hold. */
type Row = (subject: Subject) => readonly JsonObject[];

const always = (name: string, value: (subject: Subject) => string): Row => {
  return (subject) => [{ name, value: value(subject) }];
};
const unlessEmpty = (name: string, value: (values: Values) => string): Row => {
  return ({ values }) => (value(values) === '' ? [] : [{ name, value: value(values) }]);
};
const when = (condition: (values: Values) => boolean, ...rows: readonly Row[]): Row => {
  return (subject) => (condition(subject.values) ? rows.flatMap((row) => row(subject)) : []);
};
const field = (name: string, fieldPath: string): Row => {
  return () => [{ name, valueFrom: { fieldRef: { fieldPath } } }];
};
const L = (name: string) => `LINKERD2_PROXY_${name}`;

/** Every variable of the proxy in Linkerd's order, which matters: `$(…)` refers only to what stands before it. */
const table: readonly Row[] = [
  field('_pod_name', 'metadata.name'),
  field('_pod_ns', 'metadata.namespace'),
  field('_pod_uid', 'metadata.uid'),
  field('_pod_ip', 'status.podIP'),
  field('_pod_nodeName', 'spec.nodeName'),
  always('_pod_containerName', () => names.containers.proxy),
  cores,
  unlessEmpty(L('INBOUND_PORTS_REQUIRE_IDENTITY'), ({ proxy }) => proxy.requireIdentityOnInboundPorts),
  always(L('SHUTDOWN_ENDPOINT_ENABLED'), ({ values }) => String(values.proxy.enableShutdownEndpoint)),
  always(L('LOG'), ({ values }) => logLevel(values)),
  always(L('LOG_FORMAT'), ({ values }) => values.proxy.logFormat),
  always(L('DESTINATION_SVC_ADDR'), ({ values }) => service(values, 'linkerd-dst-headless', 8086)),
  always(L('DESTINATION_PROFILE_NETWORKS'), ({ values }) => values.clusterNetworks),
  always(L('POLICY_SVC_ADDR'), ({ values }) => service(values, 'linkerd-policy', 8090)),
  always(L('POLICY_WORKLOAD'), () => '{"ns":"$(_pod_ns)", "pod":"$(_pod_name)"}\n'),
  always(L('INBOUND_DEFAULT_POLICY'), ({ values }) => values.proxy.defaultInboundPolicy),
  always(L('POLICY_CLUSTER_NETWORKS'), ({ values }) => values.clusterNetworks),
  always(L('CONTROL_STREAM_INITIAL_TIMEOUT'), ({ values }) => values.proxy.control.streams.initialTimeout),
  always(L('CONTROL_STREAM_IDLE_TIMEOUT'), ({ values }) => values.proxy.control.streams.idleTimeout),
  always(L('CONTROL_STREAM_LIFETIME'), ({ values }) => values.proxy.control.streams.lifetime),
  unlessEmpty(L('INBOUND_CONNECT_TIMEOUT'), ({ proxy }) => proxy.inboundConnectTimeout),
  unlessEmpty(L('OUTBOUND_CONNECT_TIMEOUT'), ({ proxy }) => proxy.outboundConnectTimeout),
  unlessEmpty(L('OUTBOUND_DISCOVERY_IDLE_TIMEOUT'), ({ proxy }) => proxy.outboundDiscoveryCacheUnusedTimeout),
  unlessEmpty(L('INBOUND_DISCOVERY_IDLE_TIMEOUT'), ({ proxy }) => proxy.inboundDiscoveryCacheUnusedTimeout),
  when(
    ({ proxy }) => proxy.disableOutboundProtocolDetectTimeout,
    always(L('OUTBOUND_DETECT_TIMEOUT'), () => '365d'),
  ),
  when(
    ({ proxy }) => proxy.disableInboundProtocolDetectTimeout,
    always(L('INBOUND_DETECT_TIMEOUT'), () => '365d'),
  ),
  always(L('CONTROL_LISTEN_ADDR'), ({ values }) => `${anyAddress(values)}:${values.proxy.ports.control}`),
  always(L('ADMIN_LISTEN_ADDR'), ({ values }) => `${anyAddress(values)}:${values.proxy.ports.admin}`),
  always(L('OUTBOUND_LISTEN_ADDR'), ({ values }) => `127.0.0.1:${values.proxy.ports.outbound}`),
  always(L('OUTBOUND_LISTEN_ADDRS'), ({ values }) => outboundAddresses(values)),
  always(L('INBOUND_LISTEN_ADDR'), ({ values }) => `${anyAddress(values)}:${values.proxy.ports.inbound}`),
  field(L('INBOUND_IPS'), 'status.podIPs'),
  always(L('INBOUND_PORTS'), ({ facts }) => facts.inboundPorts),
  when(
    ({ proxy }) => proxy.isGateway,
    always(L('INBOUND_GATEWAY_SUFFIXES'), ({ values }) => `svc.${values.clusterDomain}.`),
  ),
  when(
    ({ proxy }) => proxy.isIngress,
    always(L('INGRESS_MODE'), () => 'true'),
  ),
  always(L('DESTINATION_PROFILE_SUFFIXES'), ({ values }) =>
    values.proxy.enableExternalProfiles ? '.' : `svc.${values.clusterDomain}.`,
  ),
  always(L('INBOUND_ACCEPT_KEEPALIVE'), () => '10000ms'),
  always(L('OUTBOUND_CONNECT_KEEPALIVE'), () => '10000ms'),
  always(L('INBOUND_ACCEPT_USER_TIMEOUT'), () => '30s'),
  always(L('OUTBOUND_CONNECT_USER_TIMEOUT'), () => '30s'),
  always(L('OUTBOUND_METRICS_HOSTNAME_LABELS'), ({ values }) => String(values.proxy.metrics.hostnameLabels)),
  when(
    ({ proxy }) => proxy.tracing.enabled,
    always(L('TRACE_ATTRIBUTES_PATH'), () => `${names.paths.podinfo}/labels`),
    always(L('TRACE_ANNOTATIONS_PATH'), () => `${names.paths.podinfo}/annotations`),
    always(L('TRACE_PROTOCOL'), ({ values }) => values.proxy.tracing.protocol || 'opentelemetry'),
    always(L('TRACE_SERVICE_NAME'), ({ values }) => values.proxy.tracing.traceServiceName),
    always(L('TRACE_COLLECTOR_SVC_ADDR'), ({ values }) => values.proxy.tracing.collector.endpoint),
    always(L('TRACE_COLLECTOR_SVC_NAME'), ({ values }) => collectorName(values)),
    always(L('TRACE_EXTRA_ATTRIBUTES'), ({ values }) => spanAttributes(values)),
  ),
  ({ values }) => [...tuning('INBOUND', values.proxy.inbound), ...tuning('OUTBOUND', values.proxy.outbound)],
  unlessEmpty(L('INBOUND_PORTS_DISABLE_PROTOCOL_DETECTION'), ({ proxy }) => proxy.opaquePorts),
  always(L('DESTINATION_CONTEXT'), () => '{"ns":"$(_pod_ns)", "nodeName":"$(_pod_nodeName)", "pod":"$(_pod_name)"}\n'),
  field('_pod_sa', 'spec.serviceAccountName'),
  always('_l5d_ns', ({ values }) => values.signet.controlPlaneNamespace),
  always('_l5d_trustdomain', ({ values }) => trustDomain(values)),
  ({ identity }) => identity,
  always(L('DESTINATION_SVC_NAME'), ({ values }) =>
    identityName(values, 'linkerd-destination', values.signet.controlPlaneNamespace),
  ),
  always(L('POLICY_SVC_NAME'), ({ values }) =>
    identityName(values, 'linkerd-destination', values.signet.controlPlaneNamespace),
  ),
  unlessEmpty(L('ACCESS_LOG'), ({ proxy }) => proxy.accessLog),
  unlessEmpty(L('SHUTDOWN_GRACE_PERIOD'), ({ proxy }) => proxy.shutdownGracePeriod),
  ({ values }) => typedEnv(values.proxy.additionalEnv),
  ({ values }) => typedEnv(values.proxy.experimentalEnv),
];

/** The environment of the proxy; `identity` holds the variables of the chosen source. */
export function environment(values: Values, facts: PodFacts, identity: readonly JsonObject[]): readonly JsonObject[] {
  return table.flatMap((row) => row({ values, facts, identity }));
}

/** Worker threads: the deprecated count wins; with no member set there is no variable at all, as in Linkerd. */
function cores({ values }: Subject): readonly JsonObject[] {
  const { minimum, maximum, maximumCPURatio } = values.proxy.runtime.workers;
  const fixed = values.proxy.cores;
  if (fixed === 0 && minimum === 0 && maximum === 0 && maximumCPURatio === 0) return [];
  const fewest = String(fixed || minimum || 1);
  const variables = [
    { name: L('CORES'), value: fewest },
    { name: L('CORES_MIN'), value: fewest },
  ];
  if (fixed === 0 && maximum !== 0) variables.push({ name: L('CORES_MAX'), value: String(maximum) });
  if (fixed === 0 && maximumCPURatio !== 0)
    variables.push({ name: L('CORES_MAX_RATIO'), value: String(maximumCPURatio) });
  return variables;
}

function logLevel({ proxy }: Values): string {
  return proxy.logHTTPHeaders === 'insecure' ? proxy.logLevel : `${proxy.logLevel},[{headers}]=off,[{request}]=off`;
}

function service({ signet, clusterDomain }: Values, name: string, port: number): string {
  return `${name}.${signet.controlPlaneNamespace}.svc.${clusterDomain}.:${port}`;
}

function anyAddress({ disableIPv6 }: Values): string {
  return disableIPv6 ? '0.0.0.0' : '[::]';
}

function outboundAddresses({ disableIPv6, proxy }: Values): string {
  const port = proxy.ports.outbound;
  return disableIPv6 ? `127.0.0.1:${port}` : `127.0.0.1:${port},[::1]:${port}`;
}

function collectorName(values: Values): string {
  const { serviceAccountName, namespace } = values.proxy.tracing.collector.meshIdentity;
  return identityName(values, serviceAccountName, namespace);
}

function spanAttributes({ proxy }: Values): string {
  const labels = Object.entries(proxy.tracing.labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return labels.map(([key, value]) => `${key}=${String(value)}\n`).join('');
}

/** Every leaf of scope → protocol → parameter becomes one variable, sorted at each level. */
function tuning(side: string, tree: JsonObject): readonly JsonObject[] {
  const sorted = (node: Json | undefined) => (isObject(node) ? Object.keys(node).sort() : []);
  return sorted(tree).flatMap((scope) =>
    sorted(at(tree, scope)).flatMap((protocol) =>
      sorted(at(at(tree, scope), protocol)).map((parameter) => ({
        name: L([side, ...[scope, protocol, parameter].map(upperSnake)].join('_')),
        value: String(at(at(at(tree, scope), protocol), parameter)),
      })),
    ),
  );
}

/** `keepAliveInterval` → `KEEP_ALIVE_INTERVAL`, `HTTPServer` → `HTTP_SERVER`, `http2` → `HTTP2`. */
function upperSnake(word: string): string {
  return word
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Za-z])(\d+[a-z])/g, '$1_$2')
    .replace(/[\s-]+/g, '_')
    .toUpperCase();
}
