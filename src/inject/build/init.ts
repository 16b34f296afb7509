import type { JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import { capabilitiesFor, proxyImage, resources, some } from './common.js';
import type { PodFacts } from './pod-facts.js';

/** The volume that holds the lock of iptables. Its name is fixed, whatever `proxyInit.xtMountPath.name` says, as in Linkerd. */
export const xtablesVolume: JsonObject = { name: names.volumes.xtables, emptyDir: {} };

/** The init container that points the Pod's traffic at the proxy. */
export function initContainer(values: Values, facts: PodFacts): JsonObject {
  const { xtMountPath } = values.proxyInit;
  return {
    name: names.containers.init,
    ...proxyImage(values),
    command: ['/usr/lib/linkerd/linkerd2-proxy-init'],
    args: args(values),
    ...resources(values),
    securityContext: securityContext(values, facts),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [{ name: xtMountPath.name, mountPath: xtMountPath.mountPath }],
  };
}

function args({ proxy, proxyInit, disableIPv6 }: Values): readonly string[] {
  const option = (name: string, value: string | number, present: boolean) => (present ? [name, String(value)] : []);
  const { ports } = proxy;
  const ignored = [
    ports.control,
    ports.admin,
    ...(proxyInit.ignoreInboundPorts === '' ? [] : [proxyInit.ignoreInboundPorts]),
  ];
  return [
    ...(proxyInit.iptablesMode === 'nft'
      ? ['--firewall-bin-path', 'iptables-nft', '--firewall-save-bin-path', 'iptables-nft-save']
      : []),
    ...(disableIPv6 ? ['--ipv6=false'] : []),
    ...option('--incoming-proxy-port', ports.inbound, true),
    ...option('--outgoing-proxy-port', ports.outbound, true),
    ...option('--proxy-uid', proxy.uid, true),
    ...option('--proxy-gid', proxy.gid, proxy.gid >= 0),
    ...option('--inbound-ports-to-ignore', ignored.join(','), true),
    ...option('--outbound-ports-to-ignore', proxyInit.ignoreOutboundPorts, proxyInit.ignoreOutboundPorts !== ''),
    ...option('--timeout-close-wait-secs', proxyInit.closeWaitTimeoutSecs, proxyInit.closeWaitTimeoutSecs !== 0),
    ...option('--log-format', proxyInit.logFormat, proxyInit.logFormat !== ''),
    ...option('--log-level', proxyInit.logLevel, proxyInit.logLevel !== ''),
    ...option('--subnets-to-ignore', proxyInit.skipSubnets, proxyInit.skipSubnets !== ''),
  ];
}

/** The two capabilities without which it cannot write rules. */
const needed = ['NET_ADMIN', 'NET_RAW'];

function securityContext(values: Values, facts: PodFacts): JsonObject {
  const { proxyInit } = values;
  const privileged = proxyInit.closeWaitTimeoutSecs !== 0 || proxyInit.privileged;
  const { add, drop } = capabilitiesFor(values, facts);
  const user = proxyInit.runAsRoot
    ? { runAsGroup: 0, runAsNonRoot: false, runAsUser: 0 }
    : { runAsGroup: proxyInit.runAsGroup || 65534, runAsNonRoot: true, runAsUser: proxyInit.runAsUser || 65534 };
  return {
    allowPrivilegeEscalation: privileged,
    capabilities: {
      add: [...needed, ...add],
      ...some(
        'drop',
        drop.filter((one) => !needed.includes(one)),
      ),
    },
    privileged,
    ...user,
    readOnlyRootFilesystem: true,
    seccompProfile: { type: 'RuntimeDefault' },
  };
}
