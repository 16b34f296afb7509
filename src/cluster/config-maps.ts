import { entryOf, type JsonObject, objectAt, textAt } from '../json.js';
import { type Api, ApiError } from './api.js';
import { Follower, type FollowWiring } from './follow.js';

/** What is known of one ConfigMap. */
export interface ConfigMap {
  readonly data: JsonObject;
  readonly labels: JsonObject;
  readonly version: string;
}

const mostContents = 8;

/** The ConfigMaps of one name in all namespaces. By that name alone may they be listed and watched, so RBAC can say so. */
export class ConfigMapCache {
  readonly #api: Api;
  readonly #name: string;
  readonly #follower: Follower<[namespace: string, found: ConfigMap]>;
  #known = new Map<string, ConfigMap>();
  /** Copies are alike: what they hold is held once. */
  readonly #contents: JsonObject[] = [];

  constructor(api: Api, name: string, wiring: FollowWiring & { readonly onChange: (namespace: string) => void }) {
    this.#api = api;
    this.#name = name;
    this.#follower = new Follower(
      api,
      {
        path: '/api/v1/configmaps',
        query: { fieldSelector: `metadata.name=${name}` },
        name: `ConfigMaps ${name}`,
        read: (object) => [namespaceOf(object), this.#lean(configMapOf(object))],
        listed: (items) => {
          this.#known = new Map(items);
          for (const namespace of this.#known.keys()) wiring.onChange(namespace);
        },
        changed: ([namespace, found]) => {
          this.#known.set(namespace, found);
          wiring.onChange(namespace);
        },
        deleted: ([namespace]) => {
          this.#known.delete(namespace);
          wiring.onChange(namespace);
        },
      },
      wiring,
    );
  }

  get isSynced(): boolean {
    return this.#follower.isSynced;
  }

  get(namespace: string): ConfigMap | undefined {
    return this.#known.get(namespace);
  }

  run(): Promise<void> {
    return this.#follower.run();
  }

  stop(): void {
    this.#follower.stop();
  }

  #lean({ data, labels, version }: ConfigMap): ConfigMap {
    return { data: this.#once(data), labels: this.#once(labels), version };
  }

  #once(map: JsonObject): JsonObject {
    const known = this.#contents.find((one) => isSame(one, map));
    if (known !== undefined) return known;
    if (this.#contents.length >= mostContents) this.#contents.shift();
    this.#contents.push(map);
    return map;
  }

  /** Makes one that is not there; false when somebody was faster, or the namespace is going away. */
  create(namespace: string, labels: JsonObject, data: JsonObject): Promise<boolean> {
    return unlessConflict(
      this.#api.create(`/api/v1/namespaces/${namespace}/configmaps`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: this.#name, namespace, labels },
        data,
      }),
    );
  }

  /** Changes one as it was last seen; false when somebody has changed it since. */
  update(namespace: string, { labels, version }: ConfigMap, data: JsonObject): Promise<boolean> {
    return unlessConflict(
      this.#api.replace(`/api/v1/namespaces/${namespace}/configmaps/${this.#name}`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: this.#name, namespace, labels, resourceVersion: version },
        data,
      }),
    );
  }
}

function isSame(one: JsonObject, other: JsonObject): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

async function unlessConflict(written: Promise<JsonObject>): Promise<boolean> {
  try {
    await written;
    return true;
  } catch (error) {
    const isOvertaken = error instanceof ApiError && (error.status === 409 || error.status === 404);
    const isGoingAway = error instanceof ApiError && error.status === 403 && /being terminated/.test(error.message);
    if (isOvertaken || isGoingAway) return false;
    throw error;
  }
}

function namespaceOf(object: JsonObject): string {
  return entryOf(objectAt(object, 'metadata'), 'namespace') ?? '';
}

function configMapOf(object: JsonObject): ConfigMap {
  const metadata = objectAt(object, 'metadata');
  return {
    data: objectAt(object, 'data'),
    labels: objectAt(metadata, 'labels'),
    version: textAt(metadata, 'resourceVersion') ?? '',
  };
}
