import type { ValuePath, Values } from './keys.js';

/** A key that another key makes necessary. */
export interface Unmet {
  readonly path: ValuePath;
  readonly expected: string;
  readonly found: string;
  readonly advice: string;
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

/** Finds every key that another key makes necessary and that is not as it must be. */
export function requirements(values: Values): Unmet[] {
  return table.flatMap(({ unmet, ...rest }) => {
    const found = unmet(values);
    return found === undefined ? [] : [{ ...rest, found }];
  });
}
