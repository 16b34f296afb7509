import { createPrivateKey, X509Certificate } from 'node:crypto';

/** A private key and the chain that belongs to it, in PEM. */
export interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

/** Where the serving certificate comes from. There are two: files that somebody else renews, and our own. */
export interface CertificateSource {
  /** The pair to serve now. */
  readonly current: () => KeyPair;
  /** Calls back with each new pair, until the returned function is called. */
  readonly watch: (changed: (pair: KeyPair) => void) => () => void;
}

/** Finds what makes a pair unusable; a server that took it would fail every handshake. */
export function flawOfPair({ key, cert }: KeyPair): string | undefined {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
      ? undefined
      : 'the key does not belong to the certificate';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** When a certificate expires, in milliseconds since 1970. */
export function notAfter(cert: string): number {
  return new Date(new X509Certificate(cert).validTo).getTime();
}
