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
    path: 'signet.spire.mountPath',
    expected: 'the directory of the socket',
    advice: 'mount the directory, never the socket file: a mounted file stays dead when the agent restarts',
    unmet: ({ signet: { spire } }) => (/\.sock$/.test(spire.mountPath) ? spire.mountPath : undefined),
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
