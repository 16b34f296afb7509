import type { table } from '../../values/keys.js';
import { type Change, change, type ValuePath, type Values } from '../../values/keys.js';
import type { ValueAt } from '../../values/schema.js';
import * as names from '../names.js';
import type { Workload } from '../workload.js';
import { duration, milliseconds, seconds, wholeSeconds } from './duration.js';
import {
  anyText,
  bool,
  count,
  type Invalid,
  int32,
  int64,
  oneOf,
  onOff,
  type Parsed,
  ratio,
  valid,
} from './parsers.js';
import { readOpaquePorts } from './ports.js';
import { quantity, wholeCores } from './quantity.js';

/** What a parser may look at beside the text: opaque ports can be names of the Pod's ports, some settings need others. */
export interface Context {
  readonly values: Values;
  readonly workload: Workload;
}

/** One annotation that configures injection. */
export interface AnnotationRow {
  readonly key: string;
  /** Taken over from the namespace when the Pod does not carry it. */
  readonly inherited: boolean;
  readonly expected: string;
  readonly help: string;
  readonly sets: readonly ValuePath[];
  /** Not read when the Pod carries one of these, which are newer spellings of it. */
  readonly yieldsTo: readonly string[];
  readonly read: (text: string, context: Context) => Parsed<readonly Change[]>;
}

type Of<P extends ValuePath> = ValueAt<typeof table, P>;

/** A row whose text sets one key. */
function row<P extends ValuePath>(
  key: string,
  path: P,
  parse: (text: string, context: Context) => Parsed<Of<P>>,
  expected: string,
  help: string,
  more: { readonly inherited?: false; readonly yieldsTo?: readonly string[] } = {},
): AnnotationRow {
  return {
    key: key.includes('/') ? key : `config.linkerd.io/${key}`,
    inherited: more.inherited ?? true,
    expected,
    help,
    sets: [path],
    yieldsTo: more.yieldsTo ?? [],
    read: (text, context) => map(parse(text, context), (value) => [change(path, value)]),
  };
}

function map<A, B>(parsed: Parsed<A>, turn: (value: A) => B): Parsed<B> {
  return parsed.ok ? valid(turn(parsed.value), parsed.unread) : parsed;
}

const inMilliseconds = (text: string) => map(duration(text), milliseconds);
const inSeconds = (text: string) => map(duration(text), wholeSeconds);
const asGiven = (text: string) => map(quantity(text), () => text);

/** A CPU quantity sets the resource and the number of worker threads. */
function cpuRow(
  key: string,
  path: 'proxy.resources.cpu.limit' | 'proxy.resources.cpu.request',
  threads: 'proxy.runtime.workers.maximum' | 'proxy.runtime.workers.minimum',
  help: string,
): AnnotationRow {
  return {
    key: `config.linkerd.io/${key}`,
    inherited: true,
    expected: 'quantity',
    help,
    sets: [path, threads],
    yieldsTo: [],
    read: (text) => {
      const parsed = quantity(text);
      const cores = parsed.ok ? wholeCores(parsed.value) : parsed;
      return map(cores, (number) => [change(path, text), change(threads, number)]);
    },
  };
}

/** Linkerd refuses a Pod that asks for header logs by another word than these. */
function headerLogs(text: string): Parsed<'off' | 'insecure' | ''> {
  if (text === 'off' || text === 'insecure' || text === '') return valid(text);
  return { ok: false, expected: 'off or insecure', fatal: true };
}

/** The kernel setting behind it can be written by root alone. */
function closeWait(text: string, { values }: Context): Parsed<number> {
  if (text === '') return valid(values.proxyInit.closeWaitTimeoutSecs);
  const whole = map(duration(text), (nanoseconds) => Math.trunc(seconds(nanoseconds)));
  if (!whole.ok || whole.value === 0 || values.proxyInit.runAsRoot || values.cniEnabled) return whole;
  const refused: Invalid = {
    ok: false,
    expected: 'no such annotation, because proxyInit.runAsRoot is false in the values',
    fatal: true,
  };
  return refused;
}

/** The words that Kuma's own injector takes. */
function kumaSwitch(text: string): Parsed<boolean> {
  if (['true', 'yes', 'enabled'].includes(text)) return valid(true);
  if (['false', 'no', 'disabled'].includes(text)) return valid(false);
  return { ok: false, expected: 'one of true, yes, enabled, false, no, disabled' };
}

function opaque(text: string, { workload }: Context): Parsed<string> {
  const { ports, dropped } = readOpaquePorts(text, workload);
  return valid(ports, dropped.join(','));
}

const stableNative = 'config.linkerd.io/proxy-enable-native-sidecar';
const betaNative = 'config.beta.linkerd.io/proxy-enable-native-sidecar';
const alphaNative = 'config.alpha.linkerd.io/proxy-enable-native-sidecar';
const policies = [
  'all-unauthenticated',
  'all-authenticated',
  'cluster-unauthenticated',
  'cluster-authenticated',
  'deny',
  'audit',
] as const;

/** Every annotation that sets a value, in the order of Linkerd's own list. Durations are Go's, quantities Kubernetes'. */
export const annotations: readonly AnnotationRow[] = [
  row('admin-port', 'proxy.ports.admin', int32, 'int32', 'admin port of the proxy'),
  row('control-port', 'proxy.ports.control', int32, 'int32', 'control port of the proxy'),
  row('enable-debug-sidecar', 'signet.debugContainer.enabled', bool, 'bool', 'add the debug container'),
  row(
    'enable-external-profiles',
    'proxy.enableExternalProfiles',
    bool,
    'bool',
    'look up profiles for names outside of the cluster',
  ),
  row(
    'image-pull-policy',
    'proxy.image.pullPolicy',
    anyText,
    'text',
    'pull policy of proxy, init container and validator',
  ),
  row('inbound-port', 'proxy.ports.inbound', int32, 'int32', 'inbound port of the proxy'),
  row('outbound-port', 'proxy.ports.outbound', int32, 'int32', 'outbound port of the proxy'),
  row('pod-inbound-ports', 'proxy.podInboundPorts', anyText, 'text', 'without effect: the ports are read off the Pod'),
  cpuRow(
    'proxy-cpu-limit',
    'proxy.resources.cpu.limit',
    'proxy.runtime.workers.maximum',
    'CPU limit, and the most worker threads',
  ),
  cpuRow(
    'proxy-cpu-request',
    'proxy.resources.cpu.request',
    'proxy.runtime.workers.minimum',
    'CPU request, and the fewest worker threads',
  ),
  row('proxy-image', 'proxy.image.name', anyText, 'text', 'image of proxy, init container and validator'),
  row(
    'proxy-admin-shutdown',
    'proxy.enableShutdownEndpoint',
    onOff,
    'enabled, disabled',
    'allow `POST /shutdown` on the admin port',
  ),
  row('proxy-log-format', 'proxy.logFormat', anyText, 'text', 'log format of the proxy'),
  row('proxy-log-level', 'proxy.logLevel', anyText, 'text', 'log level of the proxy'),
  row(
    'proxy-log-http-headers',
    'proxy.logHTTPHeaders',
    headerLogs,
    'off, insecure',
    'whether the proxy may log HTTP headers',
  ),
  row('proxy-memory-limit', 'proxy.resources.memory.limit', asGiven, 'quantity', 'memory limit of the proxy'),
  row('proxy-memory-request', 'proxy.resources.memory.request', asGiven, 'quantity', 'memory request of the proxy'),
  row(
    'proxy-ephemeral-storage-limit',
    'proxy.resources.ephemeral-storage.limit',
    asGiven,
    'quantity',
    'ephemeral storage limit of the proxy',
  ),
  row(
    'proxy-ephemeral-storage-request',
    'proxy.resources.ephemeral-storage.request',
    asGiven,
    'quantity',
    'ephemeral storage request of the proxy',
  ),
  row('proxy-uid', 'proxy.uid', int64, 'int64', 'user of the proxy'),
  row('proxy-gid', 'proxy.gid', int64, 'int64', 'group of the proxy'),
  row('proxy-version', 'proxy.image.version', anyText, 'text', 'image tag of proxy, init container and validator'),
  row(
    'proxy-require-identity-inbound-ports',
    'proxy.requireIdentityOnInboundPorts',
    anyText,
    'ports',
    'ports that accept meshed connections only',
  ),
  row('skip-inbound-ports', 'proxyInit.ignoreInboundPorts', anyText, 'ports', 'inbound ports that bypass the proxy'),
  row(
    names.opaquePorts,
    'proxy.opaquePorts',
    opaque,
    'ports, ranges, names of container ports',
    'ports whose protocol is not detected',
  ),
  row('skip-outbound-ports', 'proxyInit.ignoreOutboundPorts', anyText, 'ports', 'outbound ports that bypass the proxy'),
  row(
    'proxy-metrics-hostname-labels',
    'proxy.metrics.hostnameLabels',
    bool,
    'bool',
    'label outbound metrics with the host name',
  ),
  row(
    'proxy-outbound-connect-timeout',
    'proxy.outboundConnectTimeout',
    inMilliseconds,
    'duration',
    'time to connect to a peer',
  ),
  row(
    'proxy-inbound-connect-timeout',
    'proxy.inboundConnectTimeout',
    inMilliseconds,
    'duration',
    'time to connect to the application',
  ),
  row('proxy-await', 'proxy.await', onOff, 'enabled, disabled', 'hold the application until the proxy is ready'),
  row(
    'default-inbound-policy',
    'proxy.defaultInboundPolicy',
    oneOf(policies),
    policies.join(', '),
    'policy for ports without one of their own',
  ),
  row('skip-subnets', 'proxyInit.skipSubnets', anyText, 'CIDRs', 'subnets that bypass the proxy'),
  row('access-log', 'proxy.accessLog', anyText, 'text', 'access log format, `apache` or `json`'),
  row(
    'shutdown-grace-period',
    'proxy.shutdownGracePeriod',
    inMilliseconds,
    'duration',
    'how long the proxy drains at shutdown',
  ),
  row(
    'proxy-outbound-discovery-cache-unused-timeout',
    'proxy.outboundDiscoveryCacheUnusedTimeout',
    inSeconds,
    'duration',
    'time after which unused outbound discovery results are dropped',
  ),
  row(
    'proxy-inbound-discovery-cache-unused-timeout',
    'proxy.inboundDiscoveryCacheUnusedTimeout',
    inSeconds,
    'duration',
    'time after which unused inbound discovery results are dropped',
  ),
  row(
    'proxy-disable-outbound-protocol-detect-timeout',
    'proxy.disableOutboundProtocolDetectTimeout',
    bool,
    'bool',
    'never give up detecting the protocol of an outbound connection',
  ),
  row(
    'proxy-disable-inbound-protocol-detect-timeout',
    'proxy.disableInboundProtocolDetectTimeout',
    bool,
    'bool',
    'never give up detecting the protocol of an inbound connection',
  ),
  row(stableNative, 'proxy.nativeSidecar', bool, 'bool', 'run the proxy as a native sidecar'),
  row(betaNative, 'proxy.nativeSidecar', bool, 'bool', 'older spelling of the same', {
    inherited: false,
    yieldsTo: [stableNative],
  }),
  row(alphaNative, 'proxy.nativeSidecar', bool, 'bool', 'oldest spelling of the same', {
    yieldsTo: [stableNative, betaNative],
  }),
  row(
    'config.alpha.linkerd.io/proxy-wait-before-exit-seconds',
    'proxy.waitBeforeExitSeconds',
    count,
    'uint64',
    'seconds that a classic sidecar waits before it ends',
  ),
  row(
    'proxy-cpu-ratio-limit',
    'proxy.runtime.workers.maximumCPURatio',
    ratio,
    'number between 0 and 1',
    "most worker threads as a share of the node's cores",
    { inherited: false },
  ),
  row(
    'close-wait-timeout',
    'proxyInit.closeWaitTimeoutSecs',
    closeWait,
    'duration',
    'nf_conntrack close-wait timeout; needs `proxyInit.runAsRoot`',
    { inherited: false },
  ),
  row('enable-gateway', 'proxy.isGateway', bool, 'bool', 'run as a multicluster gateway', { inherited: false }),
  row('debug-image', 'debugContainer.image.name', anyText, 'text', 'image of the debug container', {
    inherited: false,
  }),
  row('debug-image-version', 'debugContainer.image.version', anyText, 'text', 'image tag of the debug container', {
    inherited: false,
  }),
  row(
    'debug-image-pull-policy',
    'debugContainer.image.pullPolicy',
    anyText,
    'text',
    'pull policy of the debug container',
    { inherited: false },
  ),
  row(
    names.kumaDesign,
    'signet.spire.enabled',
    onOff,
    'enabled, disabled',
    'mount the socket directory of the SPIRE agent, beside whatever source the Pod has',
    { inherited: false },
  ),
  row(
    names.kumaShipped,
    'signet.spire.enabled',
    kumaSwitch,
    'true, yes, enabled, false, no, disabled',
    'the same, as Kuma ships it',
    { inherited: false, yieldsTo: [names.kumaDesign] },
  ),
];

/** Keys that a Pod takes from its namespace, beside those of the table: opt-in itself, and the one that merges. */
export const inheritedKeys: readonly string[] = [
  names.injectKey,
  ...annotations.filter(({ inherited }) => inherited).map(({ key }) => key),
  names.additionalEnv,
];
