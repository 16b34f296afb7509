import type { IncomingMessage, RequestOptions } from 'node:http';
import https from 'node:https';
import type { Json, JsonObject } from '../json.js';
import { isObject, listAt, objectAt, textAt } from '../json.js';

/** An answer of the API server that is not a success. */
export class ApiError extends Error {
  readonly status: number;
  /** Where a list that took too long can go on from. */
  readonly goOn: string;

  constructor(status: number, message: string, goOn = '') {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.goOn = goOn;
  }
}

/** What makes a request one of ours: address, trust and credentials. client-node's KubeConfig gives it. */
export interface Access {
  readonly server: string;
  /** Of the current context, as kubectl has it. */
  readonly namespace?: string;
  readonly apply: (options: RequestOptions) => Promise<void>;
}

export interface Call {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Json;
  readonly contentType?: string;
  /** Ask in the name of somebody else, which a cluster administrator may. */
  readonly as?: string;
  readonly signal?: AbortSignal;
}

/** One event of a watch. */
export interface WatchEvent {
  readonly type: string;
  readonly object: JsonObject;
}

const timeoutMs = 10_000;
const pageSize = '500';

/** The API server, as JSON in and JSON out: what it says is never decoded into a model, which would lose what is new. */
export class Api {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  /** The namespace of objects that name none. */
  get namespace(): string {
    return this.#access.namespace ?? 'default';
  }

  get(path: string, call: Call = {}): Promise<JsonObject> {
    return this.#call('GET', path, call);
  }

  create(path: string, body: JsonObject, call: Omit<Call, 'body'> = {}): Promise<JsonObject> {
    return this.#call('POST', path, { ...call, body });
  }

  /** Every item of a list, page by page: a large cluster does not fit into one answer, nor need it fit into memory. */
  async *items(path: string, query: Readonly<Record<string, string>> = {}): AsyncGenerator<JsonObject> {
    let token = '';
    do {
      const place: Record<string, string> = token === '' ? {} : { continue: token };
      const page = await this.get(path, { query: { ...query, limit: pageSize, ...place } }).catch((error: unknown) =>
        this.#later(path, query, error),
      );
      const apiVersion = textAt(page, 'apiVersion') ?? 'v1';
      const kind = (textAt(page, 'kind') ?? '').replace(/List$/, '');
      // Items of a list do not say what they are.
      for (const item of listAt(page, 'items')) if (isObject(item)) yield { apiVersion, kind, ...item };
      token = textAt(objectAt(page, 'metadata'), 'continue') ?? '';
    } while (token !== '');
  }

  /** A place in a list is good for some minutes; whoever took longer gets one with the 410, to go on with what is there now. */
  #later(path: string, query: Readonly<Record<string, string>>, error: unknown): Promise<JsonObject> {
    if (!(error instanceof ApiError && error.status === 410 && error.goOn !== '')) throw error;
    return this.get(path, { query: { ...query, limit: pageSize, continue: error.goOn } });
  }

  /** What the clock of the API server says. */
  async time(): Promise<number> {
    const response = await this.#send('GET', '/version', { signal: AbortSignal.timeout(timeoutMs) });
    response.resume();
    return Date.parse(response.headers.date ?? '');
  }

  replace(path: string, body: JsonObject): Promise<JsonObject> {
    return this.#call('PUT', path, { body });
  }

  /** A JSON Patch in the name of a field manager. */
  patch(path: string, operations: Json, fieldManager: string): Promise<JsonObject> {
    return this.#call('PATCH', path, {
      body: operations,
      contentType: 'application/json-patch+json',
      query: { fieldManager },
    });
  }

  /** Reads an answer that is no JSON line by line: metrics of a large cluster have megabytes. */
  async lines(path: string, onLine: (line: string) => void): Promise<void> {
    const response = await this.#send('GET', path, { signal: AbortSignal.timeout(timeoutMs) });
    if (response.statusCode !== 200) throw await errorFrom(response);
    await eachLine(response, onLine);
  }

  /** Follows changes until the server ends the watch (which it does every few minutes) or it fails. */
  async watch(
    path: string,
    query: Readonly<Record<string, string>>,
    onEvent: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const response = await this.#send('GET', path, { query: { ...query, watch: '1' }, signal });
    if (response.statusCode !== 200) throw await errorFrom(response);
    await eachLine(response, (line) => onEvent(eventFrom(line)));
  }

  async #call(method: string, path: string, call: Call): Promise<JsonObject> {
    const signal = call.signal ?? AbortSignal.timeout(timeoutMs);
    const response = await this.#send(method, path, { ...call, signal });
    if ((response.statusCode ?? 500) >= 300) throw await errorFrom(response);
    const json: Json = JSON.parse(await textOf(response));
    if (!isObject(json)) throw new ApiError(500, `${method} ${path}: the answer is no object`);
    return json;
  }

  async #send(
    method: string,
    path: string,
    { query = {}, body, contentType = 'application/json', signal, as }: Call,
  ): Promise<IncomingMessage> {
    const url = new URL(path, this.#access.server);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const options: RequestOptions = {
      method,
      headers: { accept: 'application/json', ...(as === undefined ? {} : { 'impersonate-user': as }) },
      ...(signal === undefined ? {} : { signal }),
    };
    await this.#access.apply(options);
    const payload = body === undefined ? undefined : JSON.stringify(body);
    if (payload !== undefined)
      options.headers = {
        ...options.headers,
        'content-type': contentType,
        'content-length': Buffer.byteLength(payload),
      };
    return new Promise((resolve, reject) => {
      const request = https.request(url, options, resolve);
      request.on('error', reject);
      request.end(payload);
    });
  }
}

async function eachLine(response: IncomingMessage, onLine: (line: string) => void): Promise<void> {
  response.setEncoding('utf8');
  let rest = '';
  for await (const piece of response) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') onLine(line);
  }
  if (rest.trim() !== '') onLine(rest);
}

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const piece of response) text += piece;
  return text;
}

/** The API server explains itself in a Status object; anything between may answer with anything. */
async function errorFrom(response: IncomingMessage): Promise<ApiError> {
  const text = await textOf(response);
  const status = response.statusCode ?? 500;
  let message = text.slice(0, 200);
  let goOn = '';
  try {
    const said: Json = JSON.parse(text);
    message = textAt(said, 'message') ?? message;
    goOn = textAt(objectAt(said, 'metadata'), 'continue') ?? '';
  } catch {
    // No JSON: the text itself must do.
  }
  return new ApiError(status, `${status}: ${message}`, goOn);
}

function eventFrom(line: string): WatchEvent {
  const json: Json = JSON.parse(line);
  return { type: textAt(json, 'type') ?? '', object: objectAt(json, 'object') };
}
