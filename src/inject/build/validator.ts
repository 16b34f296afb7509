import type { JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import * as names from '../names.js';
import { proxyImage, resources } from './common.js';

const hardened: JsonObject = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsGroup: 65534,
  runAsNonRoot: true,
  runAsUser: 65534,
  seccompProfile: { type: 'RuntimeDefault' },
};

/** In CNI mode, the init container that fails when the plugin has not set up the Pod's network. */
export function validatorContainer(values: Values): JsonObject {
  const { networkValidator, disableIPv6 } = values;
  const connect = networkValidator.connectAddr || (disableIPv6 ? '1.1.1.1:20001' : '[fd00::1]:20001');
  const listen = networkValidator.listenAddr || (disableIPv6 ? '0.0.0.0:4140' : '[::]:4140');
  return {
    name: names.containers.validator,
    ...proxyImage(values),
    command: ['/usr/lib/linkerd/linkerd2-network-validator'],
    args: [
      '--log-format',
      networkValidator.logFormat,
      '--log-level',
      networkValidator.logLevel,
      '--connect-addr',
      connect,
      '--listen-addr',
      listen,
      '--timeout',
      networkValidator.timeout,
    ],
    ...resources(values),
    securityContext:
      Object.keys(networkValidator.securityContext).length > 0 ? networkValidator.securityContext : hardened,
  };
}
