import { readFileSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pino, { type Logger } from 'pino';
import type { Admission } from '../admission/admit.js';
import type { Namespace } from '../inject/decide/opt-in.js';
import { type Features, unknownFeatures, unseenFor } from '../inject/identity/features.js';
import type { Mesh } from '../inject/mesh.js';
import { createAdmin } from '../server/admin.js';
import { createApp } from '../server/app.js';
import { fileCertificates } from '../server/certificates/files.js';
import { type CertificateSource, type KeyPair, notAfter } from '../server/certificates/source.js';
import { Connections } from '../server/connections.js';
import { drain } from '../server/drain.js';
import { Metrics } from '../server/metrics.js';
import { reloadValues } from '../server/reload.js';
import type { Values } from '../values/keys.js';
import { addressOf } from './address.js';
import { causeOf, Failure } from './failure.js';
import type { Given } from './flags.js';
import { caFile, standaloneSurroundings } from './serve-standalone.js';
import type { Terminal } from './terminal.js';
import { meshFrom, readText } from './values-input.js';

/** What the webhook lives in: a cluster, or nothing but files. */
export interface Surroundings {
  readonly namespace: (name: string) => Namespace | Promise<Namespace>;
  readonly isKnown: (name: string) => boolean;
  readonly certificates: CertificateSource;
  readonly decided: (namespace: string, admission: Admission) => void;
  /** Told when the values on disk turn invalid, so that whoever broke them can see it where they look. */
  readonly valuesInvalid: (mistakes: string) => void;
  /** Resolves when the API server can reach and trust the port. */
  readonly becomeReady: (port: number) => Promise<void>;
  /** Whether Pods of a namespace would wait for trust roots that nobody is about to bring. */
  readonly lacksTrustRoots: (namespace: string) => boolean;
  /** What the API server has, as far as these values need to know. */
  readonly features: (values: Values) => Promise<Features>;
  /** Told the values at the start, and whenever they change. */
  readonly use: (values: Values) => void;
  /** Starts what looks at the cluster beside the webhook; the returned function ends it. */
  readonly audit: (mesh: () => Mesh, metrics: Metrics) => () => void;
  readonly stop: () => void;
}

const pollMs = 10_000;
const lookAgainMs = 60_000;
/** Kubernetes waits 30 s before it kills; what is in flight when these are over is lost either way. */
const deadlineMs = 20_000;

/** Runs the admission webhook until it is told to stop. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const log = pino({ level: levelFrom(given), base: null });
  // What is wrong with the command line is said before anything is begun.
  for (const flag of ['addr', 'admin-addr'] as const) addressOf(given.last(flag) ?? ':0');
  const metrics = new Metrics();
  let mesh = meshFrom(given, terminal);
  /** As it was read last; what the API server has is looked up before it holds. */
  let wanted = mesh;
  let lookedAt = 0;
  let notReady: string | undefined = 'starting';
  const files = filesFrom(given, (message) => log.warn(message));
  const client = clientAuthority(given);
  const around = given.has('standalone')
    ? await standaloneSurroundings(given, files)
    : // A third of the time to start, for nothing where there is no cluster.
      await (await import('./serve-cluster.js')).clusterSurroundings(given, log, files);

  const look = async () => {
    const next = wanted;
    lookedAt = Date.now();
    const seen = await around.features(next.values).catch((error: unknown) => {
      log.warn({ error: causeOf(error) }, 'cannot see what the API server has');
      return unknownFeatures;
    });
    // Newer values were read meanwhile, and are looked after themselves.
    if (next !== wanted) return;
    // A mesh of the same features stays the same object, by which decisions are remembered.
    const isSame = mesh.loaded === next.loaded && JSON.stringify(seen) === JSON.stringify(mesh.features);
    if (!isSame) mesh = { ...next, features: seen };
    for (const warning of unseenFor(mesh.features, mesh.values)) log.warn(warning);
  };
  const app = createApp(
    {
      ...around,
      decided: (name, admission) => {
        around.decided(name, admission);
        // Somebody may have switched the feature on since, or let us look.
        const isUnseen = unseenFor(mesh.features, mesh.values).length > 0;
        const isOpen = admission.reason === 'api_server_lacks_feature' || isUnseen;
        if (isOpen && Date.now() - lookedAt > lookAgainMs) void look();
      },
      mesh: () => mesh,
      metrics,
      log: (line, message) => log.info(line, message),
      warn: (line, message) => log.warn(line, message),
      now: () => performance.now(),
      callers: given.all('client-name'),
    },
    {
      ...tlsOptions(around.certificates.current(), client),
      ...(client === undefined ? {} : { requestCert: true, rejectUnauthorized: true }),
    },
  );
  const connections = new Connections(app.server);
  const stopCertificates = serveCertificates(around.certificates, app.server, metrics, log, client);
  const stopValues = watchValues(given, metrics, log, around.valuesInvalid, (next) => {
    around.use(next.values);
    wanted = next;
    void look();
  });
  around.use(mesh.values);
  await look();
  const stopAudit = around.audit(() => mesh, metrics);
  const admin = createAdmin(metrics, { notReady: () => notReady });
  const port = await listen(
    given.last('addr') ?? ':8443',
    (host, wanted) => app.listen({ host, port: wanted }),
    app.server,
  );
  const adminPort = await listen(
    given.last('admin-addr') ?? ':9990',
    (host, wanted) => new Promise<void>((done, fail) => admin.once('error', fail).listen(wanted, host, done)),
    admin,
  );
  log.info({ port, adminPort }, 'signet is serving');
  const stopped = stopSignal();
  const ready = around.becomeReady(port).then(() => {
    if (notReady === 'starting') notReady = undefined;
    log.info('ready');
  });
  if (given.has('standalone')) {
    await ready;
    terminal.out(invitation(given, port));
  }

  await stopped;
  log.info('stopping');
  const becomeUnready = () => {
    notReady = 'stopping';
  };
  const settleMs = Number(given.last('drain-seconds') ?? 5) * 1000;
  const finished = await drain({
    becomeUnready,
    settleMs,
    close: () => {
      connections.closeSilent();
      return app.close();
    },
    deadlineMs,
    // The deadline must not keep the process alive once everything is finished.
    wait: (ms) => delay(ms, undefined, { ref: ms !== deadlineMs }),
  });
  if (!finished) log.warn('gave up waiting for what was in flight');
  connections.closeAll();
  for (const stop of [stopCertificates, stopValues, stopAudit, around.stop]) stop();
  admin.closeAllConnections();
  admin.close();
  return 0;
}

const levels = ['debug', 'info', 'warn', 'error'];

function levelFrom(given: Given): string {
  const level = given.last('log-level') ?? 'info';
  if (levels.includes(level)) return level;
  throw new Failure(
    `--log-level takes ${levels.slice(0, -1).join(', ')} or ${levels.at(-1)}; found ${JSON.stringify(level)}`,
  );
}

/** Passed as a whole on every change: what is left out would fall back to its default, the lowest TLS version included. */
function tlsOptions({ key, cert }: KeyPair, client: string | undefined) {
  return { key, cert, minVersion: 'TLSv1.2' as const, ...(client === undefined ? {} : { ca: client }) };
}

function serveCertificates(
  source: CertificateSource,
  server: object,
  metrics: Metrics,
  log: Logger,
  client: string | undefined,
): () => void {
  const show = (pair: KeyPair) => metrics.certificateNotAfter.set(notAfter(pair.cert) / 1000);
  show(source.current());
  return source.watch((pair) => {
    if ('setSecureContext' in server && typeof server.setSecureContext === 'function')
      server.setSecureContext(tlsOptions(pair, client));
    show(pair);
    log.info({ notAfter: new Date(notAfter(pair.cert)).toISOString() }, 'serving a new certificate');
  });
}

/** Whom callers must be certified by; off unless it is asked for, because an API server needs a kubeconfig to show a certificate. */
function clientAuthority(given: Given): string | undefined {
  const file = given.last('client-ca');
  if (file === undefined && given.has('client-name')) throw new Failure('--client-name needs --client-ca');
  return file === undefined ? undefined : readText(file);
}

function filesFrom(given: Given, onTrouble: (message: string) => void): CertificateSource | undefined {
  const [cert, key] = [given.last('tls-cert'), given.last('tls-key')];
  if ((cert === undefined) !== (key === undefined)) throw new Failure('--tls-cert and --tls-key belong together');
  if (cert === undefined || key === undefined) return undefined;
  try {
    return fileCertificates(cert, key, pollMs, onTrouble);
  } catch (error) {
    throw new Failure(`--tls-cert ${cert}, --tls-key ${key}: ${causeOf(error)}`);
  }
}

function watchValues(
  given: Given,
  metrics: Metrics,
  log: Logger,
  tell: (mistakes: string) => void,
  taken: (mesh: Mesh) => void,
): () => void {
  const files = [...given.all('values'), ...given.all('set-file').map((one) => one.slice(one.indexOf('=') + 1))];
  return reloadValues({
    files,
    pollMs,
    fingerprint: () => files.map(contentOf).join('\0'),
    load: () => meshFrom(given),
    taken: (mesh) => {
      metrics.valuesInvalid.set(0);
      log.info('the values were read again');
      taken(mesh);
    },
    kept: (mistakes) => {
      metrics.valuesInvalid.set(1);
      log.error({ mistakes }, 'the values on disk are invalid; the last good ones are used');
      tell(mistakes);
    },
  });
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return 'unreadable';
  }
}

async function listen(
  address: string,
  start: (host: string, port: number) => Promise<unknown>,
  server: Pick<Server, 'address'>,
): Promise<number> {
  const { host, port } = addressOf(address);
  try {
    await start(host, port);
  } catch (error) {
    throw new Failure(`cannot listen on ${address}: ${causeOf(error)}`);
  }
  const bound: AddressInfo | string | null = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : port;
}

/** The line that tries the webhook, ready to be pasted. */
function invitation(given: Given, port: number): string {
  const review = 'fixtures/reviews/a-pod-that-asks.json';
  return `
Try it from another terminal:

  curl --cacert ${caFile(given)} -H 'content-type: application/json' --data @${review} https://localhost:${port}/inject

Ctrl-C ends it.
`;
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
}
