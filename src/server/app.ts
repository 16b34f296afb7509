import { type SecureContextOptions, TLSSocket } from 'node:tls';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { nameOf } from '../admission/about.js';
import { type Admission, admit, concerns, pass } from '../admission/admit.js';
import { type Asked, type Glance, Replicas } from '../admission/replicas.js';
import { respond } from '../admission/respond.js';
import { type Review, readReview } from '../admission/review.js';
import type { Namespace } from '../inject/decide/opt-in.js';
import type { Mesh } from '../inject/mesh.js';
import { entries } from '../install/entries.js';
import type { Metrics } from './metrics.js';

/**
 * A review holds the object and, on UPDATE, the old one. etcd takes 1.5 MiB by default and the API server no request of
 * more than 3 MiB, so two objects of 3 MiB and 1 MiB for the rest of the review are more than can ever come.
 */
const bodyLimit = 7 * 1024 * 1024;

/** The API server's client keeps idle connections for 90 s; ours must not be the one to close, just as a review is sent. */
const keepAliveTimeout = 100_000;

/** Whoever has not sent a whole request by then is let go; the API server has given up long before. */
const requestTimeout = 15_000;

/** What the server needs to know and to tell; everything with a side effect is handed in. */
export interface Wiring {
  readonly mesh: () => Mesh;
  /** A namespace from the cache at once, or by one live read; rejects when neither knows it. */
  readonly namespace: (name: string) => Namespace | Promise<Namespace>;
  /** Whether a namespace is known, so that its name may label a metric. */
  readonly isKnown: (name: string) => boolean;
  /** Whether Pods of a namespace would wait for trust roots that nobody is about to bring. */
  readonly lacksTrustRoots?: (namespace: string) => boolean;
  readonly metrics: Metrics;
  readonly log: (line: Readonly<Record<string, unknown>>, message: string) => void;
  readonly warn: (line: Readonly<Record<string, unknown>>, message: string) => void;
  /** Told of every decision that was not a dry run; must not throw, nor wait. */
  readonly decided: (namespace: string, admission: Admission) => void;
  readonly now: () => number;
  /** Common names of callers that are let in; empty: whoever has a certificate of the client authority, if there is one. */
  readonly callers?: readonly string[];
  /** How long a request may take to come; for tests that would not wait. */
  readonly requestTimeoutMs?: number;
}

/** How a path behaves. */
interface Route {
  /** The entry of the registration that leads here, or the path itself. */
  readonly entry: string;
  readonly namespaceAsked: boolean;
  readonly failurePolicy: 'Fail' | 'Ignore';
}

const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ...entries.map(
    ({ name, path, failurePolicy }) =>
      [path, { entry: name, namespaceAsked: name === 'namespace', failurePolicy }] as const,
  ),
  // For a drop-in behind another registration, and for a try by hand.
  ...['/inject', '/'].map((path) => [path, { entry: path, namespaceAsked: false, failurePolicy: 'Ignore' }] as const),
]);

/** The name in the certificate of whoever is at the other end. */
function isCaller(socket: object, callers: readonly string[]): boolean {
  return socket instanceof TLSSocket && callers.includes(String(socket.getPeerCertificate().subject?.CN ?? ''));
}

/** The HTTPS server that answers admission reviews; without `tls` it can only be tried through `inject()`. */
export function createApp(
  wiring: Wiring,
  tls?: SecureContextOptions & { requestCert?: boolean; rejectUnauthorized?: boolean },
): FastifyInstance {
  const timeout = wiring.requestTimeoutMs ?? requestTimeout;
  const app: FastifyInstance = Fastify({
    // Node looks for what is late every half a minute unless it is told otherwise.
    ...(tls === undefined ? {} : { https: { connectionsCheckingInterval: timeout / 3, ...tls } }),
    logger: false,
    bodyLimit,
    keepAliveTimeout,
    requestTimeout: timeout,
    // A request that still comes while we go away is answered like any other.
    return503OnClosing: false,
  });
  // Where the headers may take longer than the whole (a minute by default), Node takes the one for the other.
  app.server.headersTimeout = timeout;
  const callers = wiring.callers ?? [];
  if (callers.length > 0)
    app.addHook(
      'onRequest',
      (request, reply, done) =>
        void (isCaller(request.raw.socket, callers) ? done() : problem(reply, 403, 'this caller is not let in')),
    );
  // Fastify also takes plain text by itself; a review is JSON and nothing else.
  app.removeContentTypeParser(['text/plain', 'application/json']);
  // As text: a review that was answered before need not be parsed.
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  const parse = parserOf(app);
  const replicas = new Replicas();
  for (const [path, route] of routes) {
    const door = { wiring, route, replicas };
    app.post(path, (request, reply) => answer(door, reply, String(request.body), () => parse(request)));
  }
  app.setNotFoundHandler((request, reply) =>
    problem(reply, 404, `there is nothing at ${request.method} ${request.url}; reviews go to POST /inject`),
  );
  app.setErrorHandler((error: { readonly statusCode?: number; readonly message: string }, _request, reply) => {
    const status = error.statusCode !== undefined && error.statusCode < 500 ? error.statusCode : 500;
    wiring.metrics.trouble(status === 500 ? 'internal' : 'bad_request');
    if (status === 500) wiring.warn({ error: error.message }, 'a request failed');
    return problem(reply, status, status === 500 ? 'signet failed to answer; its log says why' : error.message);
  });
  return app;
}

/** What one path needs to answer. */
interface Door {
  readonly wiring: Wiring;
  readonly route: Route;
  readonly replicas: Replicas;
}

/** Without one of these no key can be `__proto__` or `constructor`, however it is written. */
const suspicious = ['__proto__', 'constructor', '\\u00'];

/**
 * Fastify's own parser refuses `__proto__` and the like, for which it goes through the text with two regular expressions: a quarter of
 * the time that parsing takes. Nearly all reviews show at a glance that they hold nothing of the kind.
 */
function parserOf(app: FastifyInstance): (request: FastifyRequest) => unknown {
  const parse = app.getDefaultJsonParser('error', 'error');
  return (request) => {
    const body = String(request.body);
    const plain = suspicious.some((word) => body.includes(word)) ? undefined : parsedPlainly(body);
    if (plain !== undefined) return plain;
    let parsed: unknown;
    let failure: Error | null = null;
    void parse(request, body, (error, value: unknown) => {
      failure = error;
      parsed = value;
    });
    if (failure !== null) throw failure;
    return parsed;
  };
}

/** What the text says, or nothing where it is no JSON; the other parser has words for that. */
function parsedPlainly(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function answer(
  door: Door,
  reply: FastifyReply,
  body: string,
  parse: () => unknown,
): FastifyReply | Promise<FastifyReply> {
  const { wiring, route, replicas } = door;
  const start = wiring.now();
  const glance = replicas.glance(route.entry, body);
  const known = glance && replicas.find(glance, wiring.mesh, wiring.isKnown, wiring.namespace);
  if (known !== undefined && wiring.lacksTrustRoots?.(known.asked.namespace) !== true)
    return send(door, reply, known.asked, known.admission, start);

  const review = readReview(parse());
  if ('wrong' in review) {
    wiring.metrics.trouble('bad_request');
    return problem(reply, 400, `this is no AdmissionReview: ${review.wrong}`);
  }
  if (!concerns(review)) return send(door, reply, review, pass(review), start);
  const decided = (namespace: Namespace) => decide(door, reply, review, namespace, glance, start);
  const failed = (error: unknown) => trouble(wiring, route, reply, review, error, 'namespace_unreadable');
  let namespace: Namespace | Promise<Namespace>;
  try {
    namespace = wiring.namespace(review.namespace);
  } catch (error) {
    return failed(error);
  }
  return namespace instanceof Promise ? namespace.then(decided, failed) : decided(namespace);
}

function decide(
  door: Door,
  reply: FastifyReply,
  review: Review,
  namespace: Namespace,
  glance: Glance | undefined,
  start: number,
): FastifyReply {
  const { wiring, route, replicas } = door;
  let admission: Admission;
  try {
    const mesh = wiring.mesh();
    const lacksTrustRoots = wiring.lacksTrustRoots?.(review.namespace) === true;
    admission = admit(mesh, review, namespace, { ...route, lacksTrustRoots });
    // What is missing may come at any time, and is rare: it is looked up anew each time.
    if (glance !== undefined && !lacksTrustRoots) replicas.remember(glance, mesh, namespace, review, admission);
  } catch (error) {
    return trouble(wiring, route, reply, review, error, 'internal');
  }
  return send(door, reply, review, admission, start);
}

function send(
  { wiring, route: { entry } }: Door,
  reply: FastifyReply,
  { uid, namespace, dryRun }: Asked,
  admission: Admission,
  start: number,
): FastifyReply {
  const seconds = (wiring.now() - start) / 1000;
  const { name, owner } = admission.about;
  wiring.metrics.count({ admission, namespace: wiring.isKnown(namespace) ? namespace : '', seconds });
  wiring.log(
    {
      uid,
      entry,
      namespace,
      name,
      owner: owner === undefined ? '' : `${owner.kind}/${owner.name}`,
      outcome: admission.outcome,
      reason: admission.reason,
      micros: Math.round(seconds * 1e6),
    },
    'admission',
  );
  if (!dryRun) wiring.decided(namespace, admission);
  return reply.header('content-type', 'application/json; charset=utf-8').send(respond(uid, admission.answer));
}

/**
 * A trouble of our own is no decision. Where the API server ignores a failure it gets a 500; where it does not, a 503 with
 * a hint to try again, which it does for as long as the timeout lasts.
 */
function trouble(
  wiring: Wiring,
  { failurePolicy }: Route,
  reply: FastifyReply,
  review: Review,
  error: unknown,
  cause: 'namespace_unreadable' | 'internal',
): FastifyReply {
  const message = error instanceof Error ? error.message : String(error);
  wiring.metrics.trouble(cause);
  wiring.warn(
    { uid: review.uid, namespace: review.namespace, name: nameOf(review.object), cause, error: message },
    'no decision',
  );
  const text =
    cause === 'internal'
      ? 'signet failed to decide; its log says why'
      : `signet cannot read namespace ${JSON.stringify(review.namespace)}`;
  if (failurePolicy === 'Ignore') return problem(reply, 500, text);
  return problem(reply.header('retry-after', '1'), 503, text);
}

function problem(reply: FastifyReply, status: number, error: string): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(JSON.stringify({ error }));
}
