import { type SecureContextOptions, TLSSocket } from 'node:tls';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { type Admission, admit, concerns, pass } from '../admission/admit.js';
import { type Review, readReview } from '../admission/review.js';
import type { Namespace } from '../inject/decide/opt-in.js';
import type { Mesh } from '../inject/mesh.js';
import { entries } from '../install/entries.js';
import { nameOfObject, ownerOfVerdict } from './describe.js';
import type { Metrics } from './metrics.js';

/**
 * A review holds the object and, on UPDATE, the old one. etcd takes 1.5 MiB by default and the API server no request of
 * more than 3 MiB, so two objects of 3 MiB and 1 MiB for the rest of the review are more than can ever come.
 */
const bodyLimit = 7 * 1024 * 1024;

/** The API server's client keeps idle connections for 90 s; ours must not be the one to close, just as a review is sent. */
const keepAliveTimeout = 100_000;

/** What the server needs to know and to tell; everything with a side effect is handed in. */
export interface Wiring {
  readonly mesh: () => Mesh;
  /** A namespace from the cache at once, or by one live read; rejects when neither knows it. */
  readonly namespace: (name: string) => Namespace | Promise<Namespace>;
  /** Whether a namespace is known, so that its name may label a metric. */
  readonly isKnown: (name: string) => boolean;
  readonly metrics: Metrics;
  readonly log: (line: Readonly<Record<string, unknown>>, message: string) => void;
  readonly warn: (line: Readonly<Record<string, unknown>>, message: string) => void;
  /** Told of every decision that was not a dry run; must not throw, nor wait. */
  readonly decided: (review: Review, admission: Admission) => void;
  readonly now: () => number;
  /** Common names of callers that are let in; empty: whoever has a certificate of the client authority, if there is one. */
  readonly callers?: readonly string[];
}

/** How a path behaves. */
interface Route {
  readonly namespaceAsked: boolean;
  readonly failurePolicy: 'Fail' | 'Ignore';
}

const routes: ReadonlyMap<string, Route> = new Map([
  ...entries.map(
    ({ name, path, failurePolicy }) => [path, { namespaceAsked: name === 'namespace', failurePolicy }] as const,
  ),
  // For a drop-in behind another registration, and for a try by hand.
  ...['/inject', '/'].map((path) => [path, { namespaceAsked: false, failurePolicy: 'Ignore' }] as const),
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
  const app: FastifyInstance = Fastify({
    ...(tls === undefined ? {} : { https: tls }),
    logger: false,
    bodyLimit,
    keepAliveTimeout,
    requestTimeout: 15_000,
  });
  const callers = wiring.callers ?? [];
  if (callers.length > 0)
    app.addHook(
      'onRequest',
      (request, reply, done) =>
        void (isCaller(request.raw.socket, callers) ? done() : problem(reply, 403, 'this caller is not let in')),
    );
  // Fastify also takes plain text by itself; a review is JSON and nothing else.
  app.removeContentTypeParser('text/plain');
  for (const [path, route] of routes) app.post(path, (request, reply) => answer(wiring, route, request.body, reply));
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

function answer(
  wiring: Wiring,
  route: Route,
  body: unknown,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> {
  const start = wiring.now();
  const review = readReview(body);
  if ('wrong' in review) {
    wiring.metrics.trouble('bad_request');
    return problem(reply, 400, `this is no AdmissionReview: ${review.wrong}`);
  }
  if (!concerns(review)) return send(wiring, reply, review, pass(review), start);
  let namespace: Namespace | Promise<Namespace>;
  try {
    namespace = wiring.namespace(review.namespace);
  } catch (error) {
    return trouble(wiring, route, reply, review, error, 'namespace_unreadable');
  }
  if (!(namespace instanceof Promise)) return decide(wiring, route, reply, review, namespace, start);
  return namespace.then(
    (found) => decide(wiring, route, reply, review, found, start),
    (error: unknown) => trouble(wiring, route, reply, review, error, 'namespace_unreadable'),
  );
}

function decide(
  wiring: Wiring,
  route: Route,
  reply: FastifyReply,
  review: Review,
  namespace: Namespace,
  start: number,
): FastifyReply {
  let admission: Admission;
  try {
    admission = admit(wiring.mesh(), review, namespace, route);
  } catch (error) {
    return trouble(wiring, route, reply, review, error, 'internal');
  }
  return send(wiring, reply, review, admission, start);
}

function send(wiring: Wiring, reply: FastifyReply, review: Review, admission: Admission, start: number): FastifyReply {
  const seconds = (wiring.now() - start) / 1000;
  const { uid, namespace, dryRun } = review;
  wiring.metrics.count({ admission, namespace: wiring.isKnown(namespace) ? namespace : '', seconds });
  wiring.log(
    {
      uid,
      namespace,
      name: nameOfObject(review.object),
      owner: ownerOfVerdict(admission.verdict),
      outcome: admission.outcome,
      reason: admission.reason,
      micros: Math.round(seconds * 1e6),
    },
    'admission',
  );
  if (!dryRun) wiring.decided(review, admission);
  return reply.header('content-type', 'application/json; charset=utf-8').send(admission.answer);
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
    { uid: review.uid, namespace: review.namespace, name: nameOfObject(review.object), cause, error: message },
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
