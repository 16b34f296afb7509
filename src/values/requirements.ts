import { isArray, isObject } from '../json.js';
import type { ValuePath, Values } from './keys.js';
import { bundleFlaw } from './pem.js';
import { type ProfileFlaw, readProfiles } from './profiles.js';
import { trustDomainFlaw } from './spiffe-rules.js';

/** A key that another key makes necessary. */
export interface Unmet {
  readonly path: ValuePath;
  /** Where in a list or map. */
  readonly inside?: readonly string[];
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

const socketDirectories: readonly {
  readonly path: ValuePath;
  readonly isNeeded: boolean;
  readonly given: (values: Values) => string;
}[] = [
  { path: 'signet.spire.mountPath', isNeeded: true, given: ({ signet }) => signet.spire.mountPath },
  { path: 'signet.spire.path', isNeeded: true, given: ({ signet }) => signet.spire.path },
  { path: 'signet.sidecar.paths.socket', isNeeded: false, given: ({ signet }) => signet.sidecar.paths.socket },
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
    expected: 'the name of a signer, because the source podCertificate is used',
    advice: 'set it to the signer that issues certificates for your Pods',
    unmet: ({ signet: { identity } }) =>
      missing(
        identity.podCertificate.signerName === '' &&
          [identity, ...identity.profiles].some(({ source }) => source === 'podCertificate'),
      ),
  },
  {
    path: 'signet.identity.podCertificate.maxExpirationSeconds',
    expected: 'at most 86400, because signerName is one of Kubernetes itself',
    advice: 'an API server refuses more for the signers of kubernetes.io',
    unmet: ({ signet: { identity } }) => {
      const { signerName, maxExpirationSeconds } = identity.podCertificate;
      return signerName.startsWith('kubernetes.io/') && maxExpirationSeconds > 86400
        ? String(maxExpirationSeconds)
        : undefined;
    },
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
    expected: 'none beside name',
    advice: 'a name selects one bundle, whatever its labels; take one of the two out',
    unmet: ({ signet: { trustRoots } }) => {
      const { name, labelSelector } = trustRoots.clusterTrustBundle;
      return name !== '' && labelSelector !== null ? JSON.stringify(labelSelector) : undefined;
    },
  },
  {
    path: 'signet.trustRoots.clusterTrustBundle.labelSelector',
    expected: 'a label selector: matchLabels, a map, and matchExpressions, a list',
    advice: 'an API server drops other keys, and what is left selects every bundle',
    unmet: ({ signet: { trustRoots } }) =>
      Object.entries(trustRoots.clusterTrustBundle.labelSelector ?? {}).find(
        ([key, value]) =>
          !(key === 'matchLabels' && isObject(value)) && !(key === 'matchExpressions' && isArray(value)),
      )?.[0],
  },
  {
    path: 'signet.trustRoots.bundles',
    expected: 'none, because signet.trustRoots.source is clusterTrustBundle',
    advice: 'make ClusterTrustBundles of them, and select all by signerName and labelSelector',
    unmet: ({ signet: { trustRoots } }) => {
      const domains = Object.keys(trustRoots.bundles).join(', ');
      return trustRoots.source === 'clusterTrustBundle' && domains !== '' ? domains : undefined;
    },
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
  ...socketDirectories.map(
    ({ path, isNeeded, given }): Requirement => ({
      path,
      expected: 'the directory of the socket',
      advice: 'mount the directory, never the socket file: a mounted file stays dead when the agent restarts',
      unmet: (values) => {
        const found = given(values);
        const isFile = found.endsWith('.sock') || (isNeeded && found.endsWith(`/${values.signet.spire.socketFile}`));
        return isFile || (isNeeded && found === '') ? JSON.stringify(found) : undefined;
      },
    }),
  ),
  {
    path: 'signet.sidecar.volumeMounts',
    expected: 'mounts of volumes in signet.sidecar.volumes',
    advice: 'a Pod with a mount of a volume that it does not have is refused',
    unmet: ({ signet: { sidecar } }) => {
      const known = sidecar.volumes.map(({ name }) => name);
      const other = sidecar.volumeMounts.find(({ name }) => !known.includes(name));
      return other && JSON.stringify(other.name ?? null);
    },
  },
  {
    path: 'signet.identity.podCertificate.credentialBundlePath',
    expected: 'another name than that of the trust roots beside it',
    advice: 'leave it at credentials.pem',
    unmet: ({ signet: { identity } }) =>
      identity.podCertificate.credentialBundlePath === 'ca-bundle.crt' ? 'ca-bundle.crt' : undefined,
  },
  {
    path: 'signet.overrides.deny',
    expected: 'full keys, or the start of one followed by *',
    advice: 'a * anywhere else would deny nothing',
    unmet: ({ signet: { overrides } }) => overrides.deny.find((one) => one.slice(0, -1).includes('*')),
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
  const profiles = flaws.map(({ index, profile, expected, found }) => ({
    path: 'signet.identity.profiles' as const,
    inside: [String(index)],
    expected: `of profile ${profile} ${expected}`,
    found,
  }));
  const bundles = Object.entries(trustRoots.bundles).flatMap(([domain, pem]) => {
    const path = 'signet.trustRoots.bundles' as const;
    const name = trustDomainFlaw(domain);
    const found = typeof pem === 'string' ? bundleFlaw(pem) : 'no text';
    const expected = `trust domain ${JSON.stringify(domain)}: PEM certificates and nothing else`;
    return [
      ...(name === undefined
        ? []
        : [{ path, inside: [domain], expected: 'trust domains as its keys', found: JSON.stringify(domain) }]),
      ...(found === undefined ? [] : [{ path, inside: [domain], expected, found }]),
    ];
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
