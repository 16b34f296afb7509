import type { Api } from '../cluster/api.js';
import { type ConfigMap, ConfigMapCache } from '../cluster/config-maps.js';
import { backoff, type FollowWiring } from '../cluster/follow.js';
import type { NamespaceCache } from '../cluster/namespaces.js';
import type { Namespace } from '../inject/decide/opt-in.js';
import { TrustRootsKeeper } from '../server/trust-roots.js';
import type { Values } from '../values/keys.js';
import { expiredIn } from './certificates.js';

/** The trust roots in the namespaces of a cluster: followed where Pods take them from a ConfigMap, kept where that is wanted. */
export class TrustRoots {
  readonly #api: Api;
  readonly #wiring: FollowWiring;
  readonly #namespaces: NamespaceCache;
  #values: Values | undefined;
  #cache: ConfigMapCache | undefined;
  #keeper: TrustRootsKeeper<ConfigMap> | undefined;

  constructor(api: Api, wiring: FollowWiring, namespaces: NamespaceCache) {
    this.#api = api;
    this.#wiring = wiring;
    this.#namespaces = namespaces;
  }

  /** Follows what these values name; what they no longer name is let go. */
  use(values: Values): void {
    const before = this.#values?.signet.trustRoots;
    const home = this.#values?.signet.controlPlaneNamespace;
    const { source, configMap, distribute } = values.signet.trustRoots;
    const { controlPlaneNamespace } = values.signet;
    this.#values = values;
    const isSame =
      before !== undefined &&
      home === controlPlaneNamespace &&
      before.source === source &&
      before.configMap.name === configMap.name &&
      before.distribute === distribute;
    if (isSame) {
      this.#keeper?.lookAtAll();
      return;
    }
    this.stop();
    if (source !== 'configMap') return;
    const cache = new ConfigMapCache(this.#api, configMap.name, {
      ...this.#wiring,
      onChange: (namespace) => {
        if (namespace === controlPlaneNamespace) this.#keeper?.lookAtAll();
        else this.#keeper?.look(namespace);
      },
    });
    this.#cache = cache;
    if (distribute) this.#keeper = this.#keeperOver(cache, values);
    void cache.run();
  }

  namespaceChanged({ name }: Namespace): void {
    this.#keeper?.look(name);
  }

  podAsked(namespace: string): void {
    this.#keeper?.podAsked(namespace);
  }

  /** Whether Pods of a namespace would wait for a ConfigMap that nobody is about to make. */
  areMissingIn(namespace: string): boolean {
    return this.#cache?.isSynced === true && this.#keeper === undefined && this.#cache.get(namespace) === undefined;
  }

  stop(): void {
    this.#keeper?.stop();
    this.#cache?.stop();
    this.#keeper = undefined;
    this.#cache = undefined;
  }

  #keeperOver(copies: ConfigMapCache, values: Values): TrustRootsKeeper<ConfigMap> {
    return new TrustRootsKeeper({
      copies,
      values: () => this.#values ?? values,
      namespaces: () => this.#namespaces.all(),
      namespace: (name) => this.#namespaces.known(name),
      onTrouble: this.#wiring.onTrouble,
      expired: (pem) => expiredIn(pem, Date.now()),
      backoff: (failures) => backoff(failures, Math.random()),
      later: (ms, what) => void setTimeout(what, ms).unref(),
    });
  }
}
