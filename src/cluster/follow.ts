import { isObject, type JsonObject, listAt, objectAt, textAt } from '../json.js';
import { type Api, ApiError } from './api.js';

const pageSize = '500';
/** The server ends a watch after 290 s; one that lives on has lost its other end. */
const hungMs = 330_000;

/** What is followed, and whom it is told. */
export interface Followed<T> {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** For the log. */
  readonly name: string;
  /** What of an object matters; the rest is let go at once, page by page, for there may be tens of thousands. */
  readonly read: (object: JsonObject) => T;
  /** Everything there is, at the start and whenever the place to go on from was lost. */
  readonly listed: (items: readonly T[]) => void;
  readonly changed: (item: T) => void;
  readonly deleted: (item: T) => void;
}

/** How it waits and tells; handed in, so that a test can do without time. */
export interface FollowWiring {
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
  readonly onTrouble: (message: string) => void;
}

/** Keeps up with one kind of object by a list and a watch, whatever goes wrong. */
export class Follower<T> {
  readonly #api: Api;
  readonly #followed: Followed<T>;
  readonly #wiring: FollowWiring;
  readonly #stop = new AbortController();
  #synced = false;
  /** In a row, without a word from the server between them. */
  #failures = 0;
  #told = '';

  constructor(api: Api, followed: Followed<T>, wiring: FollowWiring) {
    this.#api = api;
    this.#followed = followed;
    this.#wiring = wiring;
  }

  get isSynced(): boolean {
    return this.#synced;
  }

  /** Lists and watches until it is stopped. Whatever goes wrong is tried again, sooner at first, later and later then. */
  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#follow(await this.#list());
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        // 410 means that the place to go on from is too old: list again, at once.
        if (error instanceof ApiError && error.status === 410) continue;
        this.#failures++;
        this.#tell(`${this.#followed.name}: ${error instanceof Error ? error.message : String(error)}`);
        await this.#wiring.wait(backoff(this.#failures, this.#wiring.random()), this.#stop.signal).catch(() => {});
      }
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  /** What may not be read stays so for long: the same is said once. */
  #tell(message: string): void {
    if (message !== this.#told) this.#wiring.onTrouble(message);
    this.#told = message;
  }

  async #list(): Promise<string> {
    const { path, query, read } = this.#followed;
    const items: T[] = [];
    let token = '';
    let version = '';
    do {
      const page = await this.#api.get(path, {
        query: { ...query, limit: pageSize, ...(token === '' ? {} : { continue: token }) },
      });
      for (const item of listAt(page, 'items')) if (isObject(item)) items.push(read(item));
      token = textAt(objectAt(page, 'metadata'), 'continue') ?? '';
      version = textAt(objectAt(page, 'metadata'), 'resourceVersion') ?? '';
    } while (token !== '');
    this.#synced = true;
    this.#told = '';
    this.#followed.listed(items);
    return version;
  }

  /** A watch ends every few minutes by itself, and goes on from where it was. */
  async #follow(from: string): Promise<void> {
    const { path, query, read } = this.#followed;
    let version = from;
    while (!this.#stop.signal.aborted) {
      const place = { ...query, resourceVersion: version, allowWatchBookmarks: 'true', timeoutSeconds: '290' };
      await this.#api.watch(
        path,
        place,
        ({ type, object }) => {
          if (type === 'ERROR')
            throw new ApiError(Number(object.code ?? 500), textAt(object, 'message') ?? 'the watch failed');
          version = textAt(objectAt(object, 'metadata'), 'resourceVersion') ?? version;
          this.#failures = 0;
          if (type === 'DELETED') this.#followed.deleted(read(object));
          else if (type !== 'BOOKMARK') this.#followed.changed(read(object));
        },
        AbortSignal.any([this.#stop.signal, AbortSignal.timeout(hungMs)]),
      );
      this.#failures = 0;
    }
  }
}

/** A second, two, four, up to half a minute, each shortened by up to half so that replicas do not come all at once. */
export function backoff(failures: number, random: number): number {
  return Math.min(30_000, 1000 * 2 ** Math.min(failures - 1, 5)) * (1 - random / 2);
}
