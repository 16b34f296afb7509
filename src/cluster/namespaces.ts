import type { Namespace } from '../inject/decide/opt-in.js';
import { type JsonObject, objectAt, textAt } from '../json.js';
import { type Api, ApiError } from './api.js';
import { Follower, type FollowWiring } from './follow.js';

const path = '/api/v1/namespaces';

/** Annotations that mean something here; whatever else a namespace carries is not kept. */
const matters = /^(config\.(alpha\.|beta\.)?linkerd\.io|linkerd\.io|signet\.dev)\//;

export interface CacheWiring extends FollowWiring {
  readonly onChange?: (namespace: Namespace) => void;
}

/** Every namespace of the cluster, kept up to date by a list and a watch: name, labels and the annotations that matter. */
export class NamespaceCache {
  readonly #api: Api;
  readonly #follower: Follower<Namespace | undefined>;
  #known = new Map<string, Namespace>();
  readonly #reads = new Map<string, Promise<Namespace>>();
  /** When the API server last said that there is no such namespace, so that asking again and again costs it nothing. */
  readonly #missing = new Map<string, number>();

  constructor(api: Api, wiring: CacheWiring) {
    this.#api = api;
    this.#follower = new Follower(
      api,
      {
        path,
        query: {},
        name: 'namespaces',
        read: namespaceOf,
        listed: (items) => {
          this.#known = new Map(items.flatMap((one) => (one === undefined ? [] : [[one.name, one]])));
          for (const namespace of this.#known.values()) wiring.onChange?.(namespace);
        },
        changed: (namespace) => {
          if (namespace === undefined) return;
          this.#known.set(namespace.name, namespace);
          wiring.onChange?.(namespace);
        },
        deleted: (namespace) => this.#known.delete(namespace?.name ?? ''),
      },
      wiring,
    );
  }

  get isSynced(): boolean {
    return this.#follower.isSynced;
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  known(name: string): Namespace | undefined {
    return this.#known.get(name);
  }

  all(): Iterable<Namespace> {
    return this.#known.values();
  }

  /** From the cache at once; a miss is one live read, which requests that come meanwhile share. */
  find(name: string): Namespace | Promise<Namespace> {
    return this.#known.get(name) ?? this.#readShared(name);
  }

  run(): Promise<void> {
    return this.#follower.run();
  }

  stop(): void {
    this.#follower.stop();
  }

  #readShared(name: string): Promise<Namespace> {
    const running = this.#reads.get(name);
    if (running !== undefined) return running;
    if (performance.now() - (this.#missing.get(name) ?? Number.NEGATIVE_INFINITY) < missingMs)
      return Promise.reject(new Error(`there is no namespace ${name}`));
    const read = this.#api
      .get(`${path}/${encodeURIComponent(name)}`)
      .then((object) => {
        const namespace = namespaceOf(object);
        if (namespace === undefined) throw new Error(`the API server gave no namespace ${name}`);
        this.#known.set(namespace.name, namespace);
        return namespace;
      })
      .catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) this.#noteMissing(name);
        throw error;
      })
      .finally(() => this.#reads.delete(name));
    this.#reads.set(name, read);
    return read;
  }

  #noteMissing(name: string): void {
    if (this.#missing.size >= mostMissing) this.#missing.clear();
    this.#missing.set(name, performance.now());
  }
}

/** A second: whoever creates a namespace and a Pod in it at once is tried again by the API server. */
const missingMs = 1000;
const mostMissing = 1000;

/** What of a Namespace object matters here. */
export function namespaceOf(object: JsonObject): Namespace | undefined {
  const metadata = objectAt(object, 'metadata');
  const name = textAt(metadata, 'name');
  if (name === undefined) return undefined;
  const annotations = Object.entries(objectAt(metadata, 'annotations')).filter(([key]) => matters.test(key));
  return { name, labels: { ...objectAt(metadata, 'labels') }, annotations: Object.fromEntries(annotations) };
}
