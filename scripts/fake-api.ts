import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import jsonpatch, { type Operation } from 'fast-json-patch';
import type { Access } from '../src/cluster/api.js';
import { isObject, type Json, type JsonObject, objectAt, textAt } from '../src/json.js';
import { makeAuthority, makeLeaf } from '../src/server/certificates/make.js';

/** One request that the fake got. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json;
}

/** An API server that keeps what it is given: enough of Kubernetes for lists, watches, versions and conflicts. */
export class FakeApi {
  readonly seen: Seen[] = [];
  readonly objects = new Map<string, JsonObject>();
  /** What it says of itself. */
  metrics = '';
  /** What its clock says, in the answers to come; without one, the time. */
  readonly dates: string[] = [];
  /** Answers given instead of the real one, first in, first out. */
  readonly faults: ((response: ServerResponse) => void)[] = [];
  readonly #watches = new Set<{ readonly prefix: string; readonly response: ServerResponse }>();
  #server: Server | undefined;
  #version = 100;
  /** What has happened, for a watch that begins at an older version. */
  readonly #history: { readonly version: number; readonly path: string; readonly event: JsonObject }[] = [];
  access: Access = { server: '', apply: async () => {} };
  /** A kubeconfig that leads here, as text. */
  kubeconfig = '';

  async start(): Promise<void> {
    const lifetime = { from: Date.now(), ms: 3_600_000 };
    const authority = await makeAuthority('fake-api', lifetime);
    const pair = await makeLeaf(authority, ['localhost'], ['127.0.0.1'], lifetime);
    const server = createServer(
      { key: pair.key, cert: pair.cert },
      (request, response) => void this.#answer(request, response),
    );
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    this.#server = server;
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    this.kubeconfig = JSON.stringify({
      clusters: [
        {
          name: 'fake',
          cluster: {
            server: `https://127.0.0.1:${port}`,
            'certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
          },
        },
      ],
      users: [{ name: 'fake', user: { token: 'x' } }],
      contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake' } }],
      'current-context': 'fake',
    });
    this.access = {
      server: `https://127.0.0.1:${port}`,
      apply: async (options) => {
        Object.assign(options, { ca: authority.cert });
      },
    };
  }

  async stop(): Promise<void> {
    this.cutWatches();
    this.#server?.closeAllConnections();
    await new Promise<void>((done) => this.#server?.close(() => done()));
  }

  /** Puts an object there, and tells whoever watches. */
  put(path: string, object: JsonObject): void {
    const known = this.objects.has(path);
    const stored = {
      ...object,
      metadata: { ...objectAt(object, 'metadata'), resourceVersion: String(++this.#version) },
    };
    this.objects.set(path, stored);
    this.#tell(path, { type: known ? 'MODIFIED' : 'ADDED', object: stored });
  }

  remove(path: string): void {
    const object = this.objects.get(path);
    this.objects.delete(path);
    this.#version++;
    if (object !== undefined) this.#tell(path, { type: 'DELETED', object });
  }

  /** Sends one event as it is to every watch. */
  tellAll(event: JsonObject): void {
    for (const { response } of this.#watches) response.write(`${JSON.stringify(event)}\n`);
  }

  get watching(): number {
    return this.#watches.size;
  }

  cutWatches(): void {
    for (const watch of this.#watches) watch.response.destroy();
    this.#watches.clear();
  }

  #tell(path: string, event: JsonObject): void {
    this.#history.push({ version: this.#version, path, event });
    for (const { prefix, response } of this.#watches)
      if (isUnder(path, prefix)) response.write(`${JSON.stringify(event)}\n`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const url = new URL(request.url ?? '/', 'https://fake');
    let text = '';
    for await (const piece of request) text += piece;
    const body: Json = text === '' ? null : JSON.parse(text);
    this.seen.push({ method: request.method ?? '', path: url.pathname, query: url.searchParams, body });
    const date = this.dates.shift();
    if (date !== undefined) response.setHeader('date', date);
    const fault = this.faults.shift();
    if (fault !== undefined) return fault(response);
    if (url.searchParams.has('watch')) return this.#watch(url, response);
    switch (request.method) {
      case 'GET':
        return this.#get(url, response);
      case 'POST':
        return this.#create(url.pathname, body, response);
      case 'PUT':
        return this.#replace(url.pathname, body, response);
      default:
        return this.#patch(url.pathname, body, response);
    }
  }

  #watch({ pathname: prefix, searchParams }: URL, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const from = Number(searchParams.get('resourceVersion') ?? this.#version);
    for (const { version, path, event } of this.#history)
      if (version > from && isUnder(path, prefix)) response.write(`${JSON.stringify(event)}\n`);
    const watch = { prefix, response };
    this.#watches.add(watch);
    response.on('close', () => this.#watches.delete(watch));
  }

  #get(url: URL, response: ServerResponse): ServerResponse {
    const object = this.objects.get(url.pathname);
    if (object !== undefined) return say(response, 200, object);
    if (url.pathname === '/metrics') return response.writeHead(200).end(this.metrics);
    if (!/(namespaces|configmaps|pods)$/.test(url.pathname)) return fail(response, 404, `${url.pathname} not found`);
    const all = [...this.objects].filter(([path]) => isUnder(path, url.pathname)).map(([, one]) => one);
    const limit = Number(url.searchParams.get('limit') ?? 500);
    const from = Number(url.searchParams.get('continue') ?? 0);
    const rest = from + limit < all.length ? { continue: String(from + limit) } : {};
    return say(response, 200, {
      kind: url.pathname.endsWith('/pods') ? 'PodList' : 'NamespaceList',
      metadata: { resourceVersion: String(this.#version), ...rest },
      items: all.slice(from, from + limit),
    });
  }

  #create(path: string, body: Json, response: ServerResponse): ServerResponse {
    const name = textAt(objectAt(body, 'metadata'), 'name') ?? `generated-${++this.#version}`;
    if (this.objects.has(`${path}/${name}`)) return fail(response, 409, `${name} already exists`);
    this.put(`${path}/${name}`, isObject(body) ? body : {});
    return say(response, 201, this.objects.get(`${path}/${name}`) ?? {});
  }

  #replace(path: string, body: Json, response: ServerResponse): ServerResponse {
    const known = textAt(objectAt(this.objects.get(path), 'metadata'), 'resourceVersion');
    if (known !== textAt(objectAt(body, 'metadata'), 'resourceVersion'))
      return fail(response, 409, 'the object has been modified');
    this.put(path, isObject(body) ? body : {});
    return say(response, 200, this.objects.get(path) ?? {});
  }

  #patch(path: string, body: Json, response: ServerResponse): ServerResponse {
    const object = this.objects.get(path);
    if (object === undefined) return fail(response, 404, `${path} not found`);
    try {
      const operations: Operation[] = JSON.parse(JSON.stringify(body));
      this.put(path, jsonpatch.applyPatch(structuredClone(object), operations, true).newDocument);
    } catch {
      return fail(response, 422, 'the patch does not apply');
    }
    return say(response, 200, this.objects.get(path) ?? {});
  }
}

/** Whether an object belongs to a list: its own folder or, of all namespaces, its kind. */
function isUnder(path: string, list: string): boolean {
  const kind = /^\/api\/v1\/(configmaps|pods)$/.exec(list)?.[1];
  if (kind !== undefined) return new RegExp(`/${kind}/[^/]+$`).test(path);
  return path.startsWith(`${list}/`) && path.split('/').length === list.split('/').length + 1;
}

function say(response: ServerResponse, status: number, json: Json): ServerResponse {
  return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
}

function fail(response: ServerResponse, code: number, message: string): ServerResponse {
  return say(response, code, { kind: 'Status', status: 'Failure', code, message });
}

/** Waits until something holds, without a clock: the event loop turns until it does. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now();
  while (!(await holds())) {
    if (performance.now() - start > 20_000) throw new Error('waited 20 s in vain');
    await new Promise((turn) => setImmediate(turn));
  }
}
