import type { Namespace } from '../inject/decide/opt-in.js';
import { entryOf, isObject, type JsonObject, listAt, objectAt, textAt } from '../json.js';
import { type Api, ApiError } from './api.js';

const path = '/api/v1/namespaces';
const pageSize = '500';

/** Annotations that mean something here; whatever else a namespace carries is not kept. */
const matters = /^(config\.(alpha\.|beta\.)?linkerd\.io|linkerd\.io|signet\.dev)\//;

/** How the cache waits and tells; handed in, so that a test can do without time. */
export interface CacheWiring {
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
  readonly onTrouble: (message: string) => void;
  readonly onChange?: (namespace: Namespace) => void;
}

/** Every namespace of the cluster, kept up to date by a list and a watch: name, labels and the annotations that matter. */
export class NamespaceCache {
  readonly #api: Api;
  readonly #wiring: CacheWiring;
  #known = new Map<string, Namespace>();
  readonly #reads = new Map<string, Promise<Namespace>>();
  readonly #stop = new AbortController();
  #synced = false;

  constructor(api: Api, wiring: CacheWiring) {
    this.#api = api;
    this.#wiring = wiring;
  }

  get isSynced(): boolean {
    return this.#synced;
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** From the cache at once; a miss is one live read, which requests that come meanwhile share. */
  find(name: string): Namespace | Promise<Namespace> {
    return this.#known.get(name) ?? this.#readShared(name);
  }

  /** Lists and watches until it is stopped. Whatever goes wrong is tried again, sooner at first, later and later then. */
  async run(): Promise<void> {
    for (let failures = 0; !this.#stop.signal.aborted; ) {
      try {
        await this.#follow(await this.#list());
        failures = 0;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        // 410 means that the place to go on from is too old: list again, at once.
        if (error instanceof ApiError && error.status === 410) continue;
        failures++;
        this.#wiring.onTrouble(`namespaces: ${error instanceof Error ? error.message : String(error)}`);
        await this.#wiring.wait(backoff(failures, this.#wiring.random()), this.#stop.signal).catch(() => {});
      }
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  async #list(): Promise<string> {
    const fresh = new Map<string, Namespace>();
    let token = '';
    let version = '';
    do {
      const query: Record<string, string> = token === '' ? { limit: pageSize } : { limit: pageSize, continue: token };
      const page = await this.#api.get(path, { query });
      for (const item of listAt(page, 'items')) if (isObject(item)) keep(fresh, item);
      token = textAt(objectAt(page, 'metadata'), 'continue') ?? '';
      version = textAt(objectAt(page, 'metadata'), 'resourceVersion') ?? '';
    } while (token !== '');
    this.#known = fresh;
    this.#synced = true;
    for (const namespace of fresh.values()) this.#wiring.onChange?.(namespace);
    return version;
  }

  /** A watch ends every few minutes by itself, and goes on from where it was. */
  async #follow(from: string): Promise<void> {
    let version = from;
    while (!this.#stop.signal.aborted) {
      const query = { resourceVersion: version, allowWatchBookmarks: 'true', timeoutSeconds: '290' };
      await this.#api.watch(
        path,
        query,
        ({ type, object }) => {
          if (type === 'ERROR')
            throw new ApiError(Number(object.code ?? 500), textAt(object, 'message') ?? 'the watch failed');
          version = textAt(objectAt(object, 'metadata'), 'resourceVersion') ?? version;
          this.#take(type, object);
        },
        this.#stop.signal,
      );
    }
  }

  #take(type: string, object: JsonObject): void {
    if (type === 'BOOKMARK') return;
    if (type === 'DELETED') {
      this.#known.delete(entryOf(objectAt(object, 'metadata'), 'name') ?? '');
      return;
    }
    const namespace = keep(this.#known, object);
    if (namespace !== undefined) this.#wiring.onChange?.(namespace);
  }

  #readShared(name: string): Promise<Namespace> {
    const running = this.#reads.get(name);
    if (running !== undefined) return running;
    const read = this.#api
      .get(`${path}/${encodeURIComponent(name)}`)
      .then((object) => {
        const namespace = keep(this.#known, object);
        if (namespace === undefined) throw new Error(`the API server gave no namespace ${name}`);
        return namespace;
      })
      .finally(() => this.#reads.delete(name));
    this.#reads.set(name, read);
    return read;
  }
}

function keep(known: Map<string, Namespace>, object: JsonObject): Namespace | undefined {
  const metadata = objectAt(object, 'metadata');
  const name = textAt(metadata, 'name');
  if (name === undefined) return undefined;
  const annotations = Object.entries(objectAt(metadata, 'annotations')).filter(([key]) => matters.test(key));
  const namespace = { name, labels: { ...objectAt(metadata, 'labels') }, annotations: Object.fromEntries(annotations) };
  known.set(name, namespace);
  return namespace;
}

/** A second, two, four, up to half a minute, each shortened by up to half so that replicas do not come all at once. */
export function backoff(failures: number, random: number): number {
  return Math.min(30_000, 1000 * 2 ** Math.min(failures - 1, 5)) * (1 - random / 2);
}
