import type { JsonObject } from '../../json.js';
import type { Values } from '../../values/keys.js';
import { type Attachment, type IdentityParts, readMount } from '../identity/attachment.js';
import * as names from '../names.js';
import { capabilitiesFor, proxyImage, resources, some } from './common.js';
import { environment } from './environment.js';
import type { PodFacts } from './pod-facts.js';

/** The volumes of the proxy in Linkerd's order: keys first, then what tracing needs, then the rest. */
export function proxyAttachments(values: Values, identity: IdentityParts): readonly Attachment[] {
  const [keys, ...rest] = identity.attachments;
  return [...(keys ? [keys] : []), ...podinfo(values), ...rest];
}

/** Labels of the Pod as a file, for the spans. */
function podinfo({ proxy, signet }: Values): readonly Attachment[] {
  if (!proxy.tracing.enabled) return [];
  const items = [{ fieldRef: { fieldPath: 'metadata.labels' }, path: 'labels' }];
  return [
    {
      volume: { name: names.volumes.podinfo, downwardAPI: { items } },
      mount: readMount(names.volumes.podinfo, names.paths.podinfo, signet.identity.readOnlyMounts),
    },
  ];
}

/** The proxy itself. */
export function proxyContainer(
  values: Values,
  facts: PodFacts,
  identity: IdentityParts,
  attachments: readonly Attachment[],
): JsonObject {
  const { proxy } = values;
  return {
    name: names.containers.proxy,
    ...proxyImage(values),
    // The entry point of the image insists on a key directory and a CSR, which SPIRE's identity does without.
    ...(values.signet.identity.source === 'spire' ? { command: ['/usr/lib/linkerd/linkerd2-proxy'] } : {}),
    env: environment(values, facts, identity.environment),
    ports: [
      { containerPort: proxy.ports.inbound, name: 'linkerd-proxy' },
      { containerPort: proxy.ports.admin, name: 'linkerd-admin' },
    ],
    livenessProbe: { httpGet: { path: '/live', port: proxy.ports.admin }, ...proxy.livenessProbe },
    readinessProbe: { httpGet: { path: '/ready', port: proxy.ports.admin }, ...proxy.readinessProbe },
    ...(proxy.nativeSidecar && proxy.await
      ? { startupProbe: { httpGet: { path: '/ready', port: proxy.ports.admin }, ...proxy.startupProbe } }
      : {}),
    ...resources(values),
    securityContext: securityContext(values, facts),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...some('lifecycle', proxy.nativeSidecar ? {} : lifecycle(values)),
    volumeMounts: attachments.map(({ mount }) => mount),
    ...(proxy.nativeSidecar ? { restartPolicy: 'Always' } : {}),
  };
}

function securityContext(values: Values, facts: PodFacts): JsonObject {
  const { proxy } = values;
  if (Object.keys(proxy.securityContext).length > 0) return proxy.securityContext;
  const { add, drop } = capabilitiesFor(values, facts);
  return {
    allowPrivilegeEscalation: false,
    ...some('capabilities', { ...some('add', add), ...some('drop', drop) }),
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    runAsUser: proxy.uid,
    ...(proxy.gid >= 0 ? { runAsGroup: proxy.gid } : {}),
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

/** A classic sidecar holds the application back by its hook, and lingers at the end if it is told to. */
function lifecycle({ proxy }: Values): JsonObject {
  const wait = ['/usr/lib/linkerd/linkerd-await', '--timeout=2m', `--port=${proxy.ports.admin}`];
  const linger = ['/bin/sleep', String(proxy.waitBeforeExitSeconds)];
  return {
    ...(proxy.await ? { postStart: { exec: { command: wait } } } : {}),
    ...(proxy.waitBeforeExitSeconds === 0 ? {} : { preStop: { exec: { command: linger } } }),
  };
}
