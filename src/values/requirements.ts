import type { ValuePath, Values } from './keys.js';
import { bundleFlaw } from './pem.js';
import { type ProfileFlaw, readProfiles } from './profiles.js';

/** A key that another key makes necessary. */
export interface Unmet {
  readonly path: ValuePath;
  readonly expected: string;
  readonly found: string;
  readonly advice?: string;
}

interface Requirement {
  readonly path: ValuePath;
  readonly expected: string;
  readonly advice: string;
  /** What is found instead, or nothing when all is well. */
  readonly unmet: (values: Values) => string | undefined;
}

/** Where the Linkerd proxy has something else. */
const linkerdPaths: readonly string[] = [
  '/var/run/secrets/tokens',
  '/var/run/linkerd/identity/end-entity',
  '/var/run/linkerd/identity/trust-roots',
];

const missing = (isMissing: boolean): string | undefined => (isMissing ? 'nothing' : undefined);

/** What the type of a single key cannot say. Linkerd finds these out Pod by Pod, and refuses each; here it is at the start. */
const table: readonly Requirement[] = [
  {
    path: 'identityTrustAnchorsPEM',
    expected: 'at least one PEM certificate, because signet.trustRoots.source is inline',
    advice:
      'set it to your trust anchor (--set-file identityTrustAnchorsPEM=ca.crt), or set signet.trustRoots.source to configMap',
    unmet: (values) =>
      missing(values.signet.trustRoots.source === 'inline' && values.identityTrustAnchorsPEM.trim() === ''),
  },
  {
    path: 'signet.identity.podCertificate.signerName',
    expected: 'the name of a signer, because signet.identity.source is podCertificate',
    advice: 'set it to the signer that issues certificates for your Pods',
    unmet: ({ signet: { identity } }) =>
      missing(identity.source === 'podCertificate' && identity.podCertificate.signerName === ''),
  },
  {
    path: 'signet.identity.podCertificate.signerName',
    expected: 'the name of a signer, because a profile has the source podCertificate',
    advice: 'set it to the signer that issues certificates for your Pods',
    unmet: ({ signet: { identity } }) =>
      missing(
        identity.source !== 'podCertificate' &&
          identity.podCertificate.signerName === '' &&
          identity.profiles.some(({ source }) => source === 'podCertificate'),
      ),
  },
  {
    path: 'signet.trustRoots.clusterTrustBundle.name',
    expected: 'either name or signerName, because signet.trustRoots.source is clusterTrustBundle',
    advice: 'set one of the two',
    unmet: ({ signet: { trustRoots } }) => {
      const { name, signerName } = trustRoots.clusterTrustBundle;
      if (trustRoots.source !== 'clusterTrustBundle' || (name === '') !== (signerName === '')) return undefined;
      return name === '' ? 'neither' : 'both';
    },
  },
  {
    path: 'signet.trustRoots.clusterTrustBundle.labelSelector',
    expected: 'a label selector beside signerName',
    advice: 'unset, it selects no bundle at all; write labelSelector: {} to select every bundle of the signer',
    unmet: ({ signet: { trustRoots } }) => {
      const { signerName, labelSelector } = trustRoots.clusterTrustBundle;
      return missing(trustRoots.source === 'clusterTrustBundle' && signerName !== '' && labelSelector === null);
    },
  },
  {
    path: 'signet.trustRoots.clusterTrustBundle.labelSelector',
    expected: 'a label selector of matchLabels and matchExpressions',
    advice: 'an API server drops other keys, and what is left selects every bundle',
    unmet: ({ signet: { trustRoots } }) =>
      Object.keys(trustRoots.clusterTrustBundle.labelSelector ?? {}).find(
        (key) => key !== 'matchLabels' && key !== 'matchExpressions',
      ),
  },
  {
    path: 'signet.trustRoots.bundles',
    expected: 'none, because signet.trustRoots.distribute is false',
    advice: 'signet puts them into the ConfigMap that it distributes; put them into yours, or set distribute to true',
    unmet: ({ signet: { trustRoots } }) => {
      const domains = Object.keys(trustRoots.bundles).join(', ');
      return trustRoots.source === 'configMap' && !trustRoots.distribute && domains !== '' ? domains : undefined;
    },
  },
  {
    path: 'identityTrustAnchorsPEM',
    expected: 'certificates and nothing else',
    advice: 'it is handed to every Pod',
    unmet: ({ identityTrustAnchorsPEM }) =>
      /PRIVATE KEY-----/.test(identityTrustAnchorsPEM) ? bundleFlaw(identityTrustAnchorsPEM) : undefined,
  },
  ...(['mountPath', 'path'] as const).map(
    (key): Requirement => ({
      path: `signet.spire.${key}`,
      expected: 'the directory of the socket',
      advice: 'mount the directory, never the socket file: a mounted file stays dead when the agent restarts',
      unmet: ({ signet: { spire } }) => (/^$|\.sock$/.test(spire[key]) ? JSON.stringify(spire[key]) : undefined),
    }),
  ),
  {
    path: 'signet.sidecar.paths.socket',
    expected: 'the directory of the socket',
    advice: 'mount the directory, never the socket file: a mounted file stays dead when the agent restarts',
    unmet: ({ signet: { sidecar } }) => (/\.sock$/.test(sidecar.paths.socket) ? sidecar.paths.socket : undefined),
  },
  {
    path: 'signet.spire.mountPath',
    expected: 'a directory of its own',
    advice: 'Kubernetes refuses a container that mounts two things in one place',
    unmet: ({ signet: { spire } }) => (linkerdPaths.includes(spire.mountPath) ? spire.mountPath : undefined),
  },
  {
    path: 'signet.identity.podCertificate.credentialBundlePath',
    expected: 'another name than that of the trust roots beside it',
    advice: 'leave it at credentials.pem',
    unmet: ({ signet: { identity } }) =>
      identity.podCertificate.credentialBundlePath === 'ca-bundle.crt' ? 'ca-bundle.crt' : undefined,
  },
  {
    path: 'linkerdVersion',
    expected: 'an image tag, because proxy.image.version is empty',
    advice: 'set one of the two to the version of your control plane',
    unmet: (values) => missing(values.linkerdVersion === '' && values.proxy.image.version === ''),
  },
  {
    path: 'proxy.tracing.collector.endpoint',
    expected: 'host:port of the collector, because proxy.tracing.enabled is true',
    advice: 'set it, or switch tracing off',
    unmet: ({ proxy: { tracing } }) => missing(tracing.enabled && tracing.collector.endpoint === ''),
  },
  {
    path: 'proxy.tracing.collector.meshIdentity.serviceAccountName',
    expected: 'the ServiceAccount of the collector, because proxy.tracing.enabled is true',
    advice: 'set it, or switch tracing off',
    unmet: ({ proxy: { tracing } }) =>
      missing(tracing.enabled && tracing.collector.meshIdentity.serviceAccountName === ''),
  },
  {
    path: 'proxy.tracing.collector.meshIdentity.namespace',
    expected: 'the namespace of the collector, because proxy.tracing.enabled is true',
    advice: 'set it, or switch tracing off',
    unmet: ({ proxy: { tracing } }) => missing(tracing.enabled && tracing.collector.meshIdentity.namespace === ''),
  },
  {
    path: 'proxyInit.closeWaitTimeoutSecs',
    expected: '0, because proxyInit.runAsRoot is false',
    advice: 'set proxyInit.runAsRoot to true, or leave the timeout out',
    unmet: ({ cniEnabled, proxyInit: { closeWaitTimeoutSecs, runAsRoot } }) =>
      cniEnabled || runAsRoot || closeWaitTimeoutSecs === 0 ? undefined : String(closeWaitTimeoutSecs),
  },
];

/** What is wrong with lists and maps that hold more than one thing each. */
function inside({ signet: { identity, trustRoots } }: Values): Unmet[] {
  const flaws: ProfileFlaw[] = [];
  readProfiles(identity.profiles, (flaw) => flaws.push(flaw));
  const profiles = flaws.map(({ profile, expected, found }) => ({
    path: 'signet.identity.profiles' as const,
    expected: `profile ${profile}: ${expected}`,
    found,
  }));
  const bundles = Object.entries(trustRoots.bundles).flatMap(([domain, pem]) => {
    const found = typeof pem === 'string' ? bundleFlaw(pem) : 'no text';
    const expected = `trust domain ${JSON.stringify(domain)}: PEM certificates and nothing else`;
    return found === undefined ? [] : [{ path: 'signet.trustRoots.bundles' as const, expected, found }];
  });
  return [...profiles, ...bundles];
}

/** Finds every key that another key makes necessary and that is not as it must be. */
export function requirements(values: Values): Unmet[] {
  const unmets = table.flatMap(({ unmet, ...rest }) => {
    const found = unmet(values);
    return found === undefined ? [] : [{ ...rest, found }];
  });
  return [...unmets, ...inside(values)];
}
