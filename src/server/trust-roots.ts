import type { Namespace } from '../inject/decide/opt-in.js';
import { asks } from '../inject/decide/opt-in.js';
import { injectKey } from '../inject/names.js';
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
  /** Waits before what failed is tried again, the longer the more often it has. */
  readonly wait: (failures: number) => Promise<void>;
}

/** By this label a copy is ours; one without it belongs to whoever made it, whatever it is called. */
export const copyLabel = 'signet.dev/trust-roots';

/**
 * Keeps the ConfigMap of trust roots where Pods need it: in every namespace that opted in, and in one whose first Pod opted
 * in by itself. Copies are never removed: a container that starts again resolves its variables anew.
 */
export class TrustRootsKeeper<C extends Copy> {
  readonly #wiring: KeeperWiring<C>;
  /** Namespaces of which a Pod opted in by itself. */
  readonly #asked = new Set<string>();
  readonly #pending = new Set<string>();
  #working = false;
  #stopped = false;
  #told = '';
  #failures = 0;

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
    for (const name of this.#asked) this.look(name);
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
      for (const [namespace] of this.#pending.entries()) {
        if (this.#stopped || !this.#wiring.copies.isSynced) return;
        this.#pending.delete(namespace);
        try {
          await this.#bringUpToDate(namespace);
          this.#failures = 0;
        } catch (error) {
          this.#tell(`trust roots of ${namespace}: ${error instanceof Error ? error.message : String(error)}`);
          await this.#wiring.wait(++this.#failures);
          this.#pending.add(namespace);
        }
      }
    } finally {
      this.#working = false;
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
    if (found === undefined) await copies.create(name, { [copyLabel]: 'copy' }, data);
    else if (JSON.stringify(found.data) !== JSON.stringify(data)) await copies.update(name, found, data);
  }

  #isWanted(name: string): boolean {
    if (this.#asked.has(name)) return true;
    const { signet } = this.#wiring.values();
    if (signet.excludedNamespaces.includes(name)) return false;
    const namespace = this.#wiring.namespace(name);
    if (namespace === undefined) return false;
    return asks((entryOf(namespace.labels, injectKey) || entryOf(namespace.annotations, injectKey)) ?? '');
  }

  /** The roots of the control plane with those of the other trust domains, each certificate once. */
  #bundle(): string | undefined {
    const { signet } = this.#wiring.values();
    const { configMap, bundles } = signet.trustRoots;
    const source = `ConfigMap ${configMap.name} of namespace ${signet.controlPlaneNamespace}`;
    const own = entryOf(this.#wiring.copies.get(signet.controlPlaneNamespace)?.data, configMap.key);
    if (own === undefined) {
      this.#tell(`there is no ${configMap.key} in ${source}: no trust roots are handed out`);
      return undefined;
    }
    const flaw = bundleFlaw(own);
    if (flaw !== undefined) {
      this.#tell(`${source} holds ${flaw}: it is not handed out`);
      return undefined;
    }
    const further = Object.values(bundles).map(String);
    const all = [own, ...further].join('\n');
    const gone = this.#wiring.expired(all);
    this.#tell(gone.length === 0 ? '' : `trust roots that have expired: ${gone.join(', ')}`);
    // A copy is a copy, comments included; only what is put together is written anew.
    if (further.length === 0) return own;
    return `${[...new Set(pemBlocks(all).map(({ text }) => text))].join('\n')}\n`;
  }

  #tell(message: string): void {
    if (message !== '' && message !== this.#told) this.#wiring.onTrouble(message);
    this.#told = message;
  }
}
