import { asks, type Namespace, wordOf } from '../inject/decide/opt-in.js';
import { entryOf, type JsonObject } from '../json.js';
import type { Values } from '../values/keys.js';
import { bundleFlaw, pemBlocks } from '../values/pem.js';

/** One copy of the trust roots, as it is in a namespace. */
export interface Copy {
  readonly data: JsonObject;
  readonly labels: JsonObject;
  readonly version: string;
}

/** Where copies are kept; every write gives false when somebody else was faster. */
export interface Copies<C extends Copy = Copy> {
  readonly isSynced: boolean;
  readonly get: (namespace: string) => C | undefined;
  readonly create: (namespace: string, labels: JsonObject, data: JsonObject) => Promise<boolean>;
  readonly update: (namespace: string, copy: C, data: JsonObject) => Promise<boolean>;
}

export interface KeeperWiring<C extends Copy> {
  readonly copies: Copies<C>;
  readonly values: () => Values;
  /** Every namespace, and one of them by its name. */
  readonly namespaces: () => Iterable<Namespace>;
  readonly namespace: (name: string) => Namespace | undefined;
  readonly onTrouble: (message: string) => void;
  /** Certificates of a bundle that have expired, by name. */
  readonly expired: (pem: string) => readonly string[];
  /** How long to wait before what failed is tried again, the longer the more often it has. */
  readonly backoff: (failures: number) => number;
  readonly later: (ms: number, what: () => void) => void;
}

/** By this label a copy is ours; one without it belongs to whoever made it, whatever it is called. */
export const copyLabel = 'signet.dev/copy';

/** Somebody who undoes what we write may be a replica of ours with values of a moment ago: it is given time to learn. */
const undoneMs = 10_000;

/**
 * Keeps the ConfigMap of trust roots where Pods need it: in every namespace that opted in, and in one whose first Pod opted
 * in by itself. Copies are never removed: a container that starts again resolves its variables anew.
 */
export class TrustRootsKeeper<C extends Copy> {
  readonly #wiring: KeeperWiring<C>;
  /** Namespaces of which a Pod opted in by itself. */
  readonly #asked = new Set<string>();
  readonly #pending = new Set<string>();
  /** By namespace: what was last written, and how often in a row writing failed. */
  readonly #written = new Map<string, string>();
  readonly #failures = new Map<string, number>();
  readonly #told = new Map<string, string>();
  #made:
    | { readonly own: string | undefined; readonly bundles: JsonObject; readonly text: string | undefined }
    | undefined;
  #working = false;
  #stopped = false;

  constructor(wiring: KeeperWiring<C>) {
    this.#wiring = wiring;
  }

  /** A Pod of this namespace was given an identity. */
  podAsked(namespace: string): void {
    if (this.#asked.has(namespace)) return;
    this.#asked.add(namespace);
    this.look(namespace);
  }

  /** Looks after everything: the source or the values have changed. */
  lookAtAll(): void {
    for (const { name } of this.#wiring.namespaces()) this.look(name);
    for (const name of this.#asked) {
      if (this.#wiring.namespace(name) === undefined) this.#asked.delete(name);
      else this.look(name);
    }
  }

  /** A namespace or its copy has changed. */
  look(namespace: string): void {
    if (namespace === this.#wiring.values().signet.controlPlaneNamespace) return;
    this.#pending.add(namespace);
    void this.#work();
  }

  stop(): void {
    this.#stopped = true;
  }

  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    try {
      for (const namespace of this.#pending) {
        if (this.#stopped || !this.#wiring.copies.isSynced) return;
        this.#pending.delete(namespace);
        await this.#try(namespace);
      }
    } finally {
      this.#working = false;
    }
  }

  /** One namespace that cannot be written to (a quota, a webhook) waits by itself, and holds up no other. */
  async #try(namespace: string): Promise<void> {
    try {
      await this.#bringUpToDate(namespace);
      this.#failures.delete(namespace);
      this.#told.delete(namespace);
    } catch (error) {
      const failures = (this.#failures.get(namespace) ?? 0) + 1;
      this.#failures.set(namespace, failures);
      this.#tell(namespace, `trust roots of ${namespace}: ${error instanceof Error ? error.message : String(error)}`);
      this.#wiring.later(this.#wiring.backoff(failures), () => this.look(namespace));
    }
  }

  async #bringUpToDate(name: string): Promise<void> {
    const { copies, values } = this.#wiring;
    const found = copies.get(name);
    // One that is ours is kept up to date for good: Pods from before may still be there.
    if (found === undefined ? !this.#isWanted(name) : entryOf(found.labels, copyLabel) === undefined) return;
    const bundle = this.#bundle();
    if (bundle === undefined) return;
    const { key } = values().signet.trustRoots.configMap;
    const data = { [key]: bundle };
    // Most are as they should be, and there may be ten thousand.
    if (found !== undefined && found.data[key] === bundle && Object.keys(found.data).length === 1) return;
    const text = JSON.stringify(data);
    if (found !== undefined && this.#written.get(name) === text) {
      this.#written.delete(name);
      this.#wiring.later(undoneMs, () => this.look(name));
      return;
    }
    this.#written.set(name, text);
    if (found === undefined) await copies.create(name, { [copyLabel]: 'trust-roots' }, data);
    else await copies.update(name, found, data);
  }

  #isWanted(name: string): boolean {
    if (this.#asked.has(name)) return true;
    const { signet } = this.#wiring.values();
    if (signet.excludedNamespaces.includes(name)) return false;
    const namespace = this.#wiring.namespace(name);
    return namespace !== undefined && asks(wordOf(namespace));
  }

  /** What is handed out now; it is put together once for all namespaces, since every certificate in it is read. */
  #bundle(): string | undefined {
    const { signet } = this.#wiring.values();
    const { configMap, bundles } = signet.trustRoots;
    const own = entryOf(this.#wiring.copies.get(signet.controlPlaneNamespace)?.data, configMap.key);
    if (this.#made?.own !== own || this.#made?.bundles !== bundles)
      this.#made = { own, bundles, text: this.#together(own) };
    return this.#made?.text;
  }

  /** The roots of the control plane with those of the other trust domains, each certificate once. */
  #together(own: string | undefined): string | undefined {
    const { signet } = this.#wiring.values();
    const { configMap, bundles } = signet.trustRoots;
    const source = `ConfigMap ${configMap.name} of namespace ${signet.controlPlaneNamespace}`;
    if (own === undefined) {
      this.#tell('', `there is no ${configMap.key} in ${source}: no trust roots are handed out`);
      return undefined;
    }
    const flaw = bundleFlaw(own);
    if (flaw !== undefined) {
      this.#tell('', `${source} holds ${flaw}: it is not handed out`);
      return undefined;
    }
    const further = Object.values(bundles).map(String);
    const all = [own, ...further].join('\n');
    const gone = this.#wiring.expired(all);
    this.#tell('', gone.length === 0 ? '' : `trust roots that have expired: ${gone.join(', ')}`);
    // A copy is a copy, comments included; only what is put together is written anew.
    if (further.length === 0) return own;
    return `${[...new Set(pemBlocks(all).map(({ text }) => text))].join('\n')}\n`;
  }

  /** The same is said once of the same thing. */
  #tell(about: string, message: string): void {
    if (message !== '' && message !== this.#told.get(about)) this.#wiring.onTrouble(message);
    this.#told.set(about, message);
  }
}
