import { ownKeys } from './own-keys.js';
import { amount, areNetworks, port } from './rules.js';
import {
  choice,
  decimal,
  flag,
  free,
  group,
  objects,
  type PathOf,
  text,
  texts,
  type ValueAt,
  type ValueOf,
  whole,
} from './schema.js';

/**
 * Every key of a values file that means something to signet. All but `signet` are Linkerd's, with the defaults of its
 * chart; a Linkerd values file has many more, which concern its control plane and are ignored here.
 */
export const table = group({
  clusterDomain: text('cluster.local', 'DNS domain of the cluster'),
  clusterNetworks: text(
    '10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16,fd00::/8',
    'networks of the cluster, as a comma-separated list of CIDRs',
    { expected: 'a comma-separated list of CIDRs such as 10.0.0.0/8', holds: areNetworks },
  ),
  cniEnabled: flag(false, 'the CNI plugin sets up the network, so Pods need no init container that may'),
  disableIPv6: flag(true, 'listen on IPv4 only'),
  identityTrustAnchorsPEM: text(
    '',
    'trust anchors (PEM) for `signet.trustRoots.source: inline`, and for the checksum annotation',
  ),
  identityTrustDomain: text('', 'trust domain of identities; empty: `clusterDomain`'),
  imagePullPolicy: text('IfNotPresent', 'pull policy of every image that has none of its own'),
  linkerdVersion: text('edge-26.6.3', 'image tag of everything that has none of its own'),
  identity: group({
    serviceAccountTokenProjection: flag(true, 'use a token of its own audience, not the default ServiceAccount token'),
  }),
  debugContainer: group({
    image: group({
      name: text('cr.l5d.io/linkerd/debug', 'image of the debug container'),
      pullPolicy: text('', 'its pull policy; empty: `imagePullPolicy`'),
      version: text('', 'its tag; empty: `linkerdVersion`'),
    }),
  }),
  networkValidator: group({
    logLevel: text('debug', 'log level of the network validator'),
    logFormat: text('plain', 'log format of the network validator'),
    connectAddr: text('', 'address that it connects to; empty: chosen by IP family'),
    listenAddr: text('', 'address that it listens on; empty: chosen by IP family'),
    timeout: text('10s', 'how long it waits for the network to be set up'),
    securityContext: free(
      {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
        runAsGroup: 65534,
        runAsNonRoot: true,
        runAsUser: 65534,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      'security context of the validator',
    ),
  }),
  proxy: group({
    accessLog: text('', 'access log format, `apache` or `json`; empty: none'),
    additionalEnv: objects('environment variables to append (Kubernetes EnvVar objects)'),
    await: flag(true, 'hold the application until the proxy is ready'),
    capabilities: group({
      add: texts([], 'Linux capabilities to add to the proxy'),
      drop: texts([], 'Linux capabilities to drop from the proxy'),
    }),
    control: group({
      streams: group({
        idleTimeout: text('5m', 'idle time after which a control stream is closed'),
        initialTimeout: text('3s', 'time for the first message of a control stream'),
        lifetime: text('1h', 'longest life of a control stream'),
      }),
    }),
    cores: whole(0, 'worker threads (deprecated: `proxy.runtime.workers`)'),
    defaultInboundPolicy: choice(
      [
        'all-unauthenticated',
        'all-authenticated',
        'cluster-unauthenticated',
        'cluster-authenticated',
        'deny',
        'audit',
        '',
      ],
      'all-unauthenticated',
      'policy for ports without one of their own',
    ),
    disableInboundProtocolDetectTimeout: flag(false, 'never give up detecting the protocol of an inbound connection'),
    disableOutboundProtocolDetectTimeout: flag(false, 'never give up detecting the protocol of an outbound connection'),
    enableExternalProfiles: flag(false, 'look up profiles for names outside of the cluster'),
    enableShutdownEndpoint: flag(false, 'allow `POST /shutdown` on the admin port'),
    experimentalEnv: objects('environment variables to append after `additionalEnv`'),
    gid: whole(-1, 'group of the proxy; negative: not set'),
    image: group({
      name: text('cr.l5d.io/linkerd/proxy', 'image of proxy, init container and validator', {
        expected: 'the name of an image',
        holds: (value) => value !== '',
      }),
      pullPolicy: text('', 'their pull policy; empty: `imagePullPolicy`'),
      version: text('', 'their tag; empty: `linkerdVersion`'),
    }),
    inbound: free(
      { server: { http2: { keepAliveInterval: '10s', keepAliveTimeout: '3s' } } },
      'inbound tuning, scope → protocol → parameter; each leaf becomes a variable',
    ),
    inboundConnectTimeout: text('100ms', 'time to connect to the application'),
    inboundDiscoveryCacheUnusedTimeout: text('90s', 'time after which unused inbound discovery results are dropped'),
    isGateway: flag(false, 'run as a multicluster gateway'),
    isIngress: flag(false, 'run in ingress mode'),
    livenessProbe: group({
      initialDelaySeconds: whole(10, 'delay of the liveness probe'),
      timeoutSeconds: whole(1, 'timeout of the liveness probe'),
    }),
    logFormat: text('plain', 'log format of the proxy'),
    logHTTPHeaders: choice(['off', 'insecure', ''], 'off', '`insecure` lets the proxy log HTTP headers'),
    logLevel: text('warn,linkerd=info,hickory=error', 'log level of the proxy'),
    metrics: group({ hostnameLabels: flag(false, 'label outbound metrics with the host name') }),
    nativeSidecar: flag(true, 'run the proxy as a native sidecar (an init container that is restarted)'),
    opaquePorts: text('25,587,3306,4444,5432,6379,9300,11211', 'ports whose protocol is not detected'),
    outbound: free(
      { server: { http2: { keepAliveInterval: '10s', keepAliveTimeout: '3s' } } },
      'outbound tuning, as `proxy.inbound`',
    ),
    outboundConnectTimeout: text('1000ms', 'time to connect to a peer'),
    outboundDiscoveryCacheUnusedTimeout: text('5s', 'time after which unused outbound discovery results are dropped'),
    podInboundPorts: text('', 'ignored: the ports are read off the Pod'),
    ports: group({
      admin: whole(4191, 'admin port of the proxy', port),
      control: whole(4190, 'control port of the proxy', port),
      inbound: whole(4143, 'inbound port of the proxy', port),
      outbound: whole(4140, 'outbound port of the proxy', port),
    }),
    readinessProbe: group({
      initialDelaySeconds: whole(2, 'delay of the readiness probe'),
      timeoutSeconds: whole(1, 'timeout of the readiness probe'),
    }),
    requireIdentityOnInboundPorts: text('', 'ports that accept meshed connections only'),
    resources: group({
      cpu: group({
        limit: text('', 'CPU limit of the proxy', amount),
        request: text('', 'CPU request of the proxy', amount),
      }),
      memory: group({
        limit: text('', 'memory limit of the proxy', amount),
        request: text('', 'memory request of the proxy', amount),
      }),
      'ephemeral-storage': group({
        limit: text('', 'ephemeral storage limit of the proxy', amount),
        request: text('', 'ephemeral storage request of the proxy', amount),
      }),
    }),
    runtime: group({
      workers: group({
        maximum: whole(0, 'most worker threads; 0: not set'),
        maximumCPURatio: decimal(0, 'most worker threads as a share of the cores of the node; 0: not set'),
        minimum: whole(1, 'fewest worker threads'),
      }),
    }),
    securityContext: free({}, 'security context of the proxy, as it is; empty: the hardened one'),
    shutdownGracePeriod: text('', 'how long the proxy drains at shutdown'),
    startupProbe: group({
      failureThreshold: whole(120, 'failures after which the startup probe gives up'),
      initialDelaySeconds: whole(0, 'delay of the startup probe'),
      periodSeconds: whole(1, 'period of the startup probe'),
    }),
    tracing: group({
      collector: group({
        endpoint: text('', 'host:port of the trace collector'),
        meshIdentity: group({
          namespace: text('', 'namespace of the collector'),
          serviceAccountName: text('', 'ServiceAccount of the collector'),
        }),
      }),
      enabled: flag(false, 'let the proxy send traces'),
      labels: free(
        {
          'k8s.container.name': '$(_pod_containerName)',
          'k8s.pod.ip': '$(_pod_ip)',
          'k8s.pod.uid': '$(_pod_uid)',
        },
        'attributes of every span',
      ),
      protocol: text('', 'trace protocol; empty: `opentelemetry`'),
      traceServiceName: text('linkerd-proxy', 'service name of the spans'),
    }),
    uid: whole(2102, 'user of the proxy'),
    waitBeforeExitSeconds: whole(0, 'seconds that a classic sidecar waits before it ends'),
  }),
  proxyInit: group({
    closeWaitTimeoutSecs: whole(0, 'nf_conntrack close-wait timeout; needs `proxyInit.runAsRoot`; 0: not set'),
    ignoreInboundPorts: text('4567,4568', 'inbound ports that bypass the proxy'),
    ignoreOutboundPorts: text('4567,4568', 'outbound ports that bypass the proxy'),
    iptablesMode: choice(['nft', 'legacy'], 'nft', 'which iptables to use'),
    logFormat: text('', 'log format of the init container'),
    logLevel: text('', 'log level of the init container'),
    privileged: flag(false, 'run the init container privileged'),
    runAsGroup: whole(65534, 'group of the init container'),
    runAsRoot: flag(false, 'run the init container as root'),
    runAsUser: whole(65534, 'user of the init container'),
    skipSubnets: text('', 'subnets that bypass the proxy'),
    xtMountPath: group({
      mountPath: text('/run', 'where the lock of iptables is mounted'),
      name: text('linkerd-proxy-init-xtables-lock', 'volume of that mount'),
    }),
  }),
  signet: ownKeys,
});

export type Values = ValueOf<typeof table>;
export type ValuePath = PathOf<typeof table>;

/** One key set to one value: what an annotation does to the values. */
export interface Change {
  readonly path: ValuePath;
  readonly value: ValueAt<typeof table, ValuePath>;
}

/** Sets one key; the compiler knows which type it has. */
export function change<P extends ValuePath>(path: P, value: ValueAt<typeof table, P>): Change {
  return { path, value };
}
