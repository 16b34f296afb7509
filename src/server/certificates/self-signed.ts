import { X509Certificate } from 'node:crypto';
import { makeAuthority, makeLeaf } from './make.js';
import { type CertificateSource, flawOfPair, type KeyPair, notAfter } from './source.js';

/** What the Secret holds, in PEM. `previous` is the authority before this one, until nobody can be using it any more. */
export interface Stored {
  readonly authority: KeyPair;
  readonly leaf: KeyPair;
  readonly previous: string;
}

/** The Secret that all replicas share. Whoever writes first wins: a write names the version that it is based on. */
export interface Store {
  readonly read: () => Promise<{ readonly stored: Stored | undefined; readonly version: string } | undefined>;
  /** False when somebody else was faster. */
  readonly write: (stored: Stored, basedOn: string | undefined) => Promise<boolean>;
}

/** Settings of our own certificates, in milliseconds; a test rotates every second. */
export interface Lifetimes {
  readonly authorityMs: number;
  readonly leafMs: number;
  readonly checkMs: number;
  /** How long the API server may take to see a new bundle; a new leaf is served only after it. */
  readonly settleMs: number;
}

export interface SelfSigned {
  readonly store: Store;
  /** Sees to it that every entry of the registration has this bundle. */
  readonly register: (bundle: string) => Promise<void>;
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  readonly lifetimes: Lifetimes;
  readonly now: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onTrouble: (message: string) => void;
}

/**
 * Our own authority and serving certificate, in one Secret. Any replica may renew them, guarded by the Secret's version, so
 * that no leader is needed. During a change the bundle carries the old authority beside the new one, and no replica
 * serves a certificate before the bundle that verifies it is registered.
 */
export class SelfSignedCertificates implements CertificateSource {
  readonly #wiring: SelfSigned;
  readonly #stop = new AbortController();
  #current: KeyPair | undefined;
  #changed: (pair: KeyPair) => void = () => {};

  constructor(wiring: SelfSigned) {
    this.#wiring = wiring;
  }

  /** Makes or reads the first certificate, however long the API server takes to be there, and keeps it renewed then. */
  async start(): Promise<void> {
    while (this.#current === undefined && !this.#stop.signal.aborted) await this.#attempt();
    void this.#keepUp();
  }

  readonly current = (): KeyPair => {
    if (this.#current === undefined) throw new Error('there is no certificate yet');
    return this.#current;
  };

  readonly watch = (changed: (pair: KeyPair) => void): (() => void) => {
    this.#changed = changed;
    return () => this.#stop.abort();
  };

  async #keepUp(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#wiring.wait(this.#wiring.lifetimes.checkMs, this.#stop.signal).catch(() => {});
      if (!this.#stop.signal.aborted) await this.#attempt();
    }
  }

  async #attempt(): Promise<void> {
    try {
      await this.#reconcile();
    } catch (error) {
      this.#wiring.onTrouble(`certificates: ${error instanceof Error ? error.message : String(error)}`);
      if (this.#current === undefined) await this.#wiring.wait(1000, this.#stop.signal).catch(() => {});
    }
  }

  async #reconcile(): Promise<void> {
    const { register, lifetimes, wait } = this.#wiring;
    const stored = await this.#agree();
    await register(bundleOf(stored, this.#wiring.now()));
    const { leaf } = stored;
    if (this.#current?.cert === leaf.cert) return;
    if (this.#current !== undefined) await wait(lifetimes.settleMs, this.#stop.signal);
    this.#current = leaf;
    this.#changed(leaf);
  }

  /** What the Secret says, once it says something good; a lost race is no failure, the winner's is as good as ours. */
  async #agree(): Promise<Stored> {
    const { store } = this.#wiring;
    for (let tries = 0; tries < 5; tries++) {
      const found = await store.read();
      const wanted = await this.#renewed(found?.stored);
      if (wanted === found?.stored) return wanted;
      if (await store.write(wanted, found?.version)) return wanted;
    }
    throw new Error('the Secret was changed by others five times in a row');
  }

  /** The same when it is good for now; with a new leaf, or a new authority as well, when a third of its life is left. */
  async #renewed(stored: Stored | undefined): Promise<Stored> {
    const { lifetimes, now, dnsNames, addresses } = this.#wiring;
    const time = now();
    const isOld = (cert: string, lifetimeMs: number) => notAfter(cert) - time < lifetimeMs / 3;
    const sound = stored !== undefined && isSound(stored) ? stored : undefined;
    if (sound === undefined || isOld(sound.authority.cert, lifetimes.authorityMs)) {
      const authority = await makeAuthority(`signet-ca-${time}`, { from: time, ms: lifetimes.authorityMs });
      const leaf = await makeLeaf(authority, dnsNames, addresses, { from: time, ms: lifetimes.leafMs });
      return { authority, leaf, previous: sound?.authority.cert ?? '' };
    }
    if (!isOld(sound.leaf.cert, lifetimes.leafMs) && this.#serves(sound.leaf.cert)) return sound;
    const leaf = await makeLeaf(sound.authority, dnsNames, addresses, { from: time, ms: lifetimes.leafMs });
    return { ...sound, leaf };
  }

  #serves(cert: string): boolean {
    const parsed = new X509Certificate(cert);
    return (
      this.#wiring.dnsNames.every((name) => parsed.checkHost(name) !== undefined) &&
      this.#wiring.addresses.every((ip) => parsed.checkIP(ip) !== undefined)
    );
  }
}

/** Both pairs can be used, and the authority has signed the leaf; a Secret that somebody edited may hold anything. */
function isSound({ authority, leaf }: Stored): boolean {
  if (flawOfPair(authority) !== undefined || flawOfPair(leaf) !== undefined) return false;
  return new X509Certificate(leaf.cert).verify(new X509Certificate(authority.cert).publicKey);
}

/** The authority, and the one before it for as long as it is valid. */
export function bundleOf({ authority, previous }: Stored, now: number): string {
  const isAlive = previous !== '' && notAfter(previous) > now;
  return `${authority.cert.trim()}\n${isAlive ? `${previous.trim()}\n` : ''}`;
}
