import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { binaries } from './binaries.js';

/** What a finished program said. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface ControlPlane {
  readonly folder: string;
  readonly server: string;
  /** A kubeconfig of a cluster administrator. */
  readonly kubeconfig: string;
  /** Writes a kubeconfig that logs in with a token, and gives its path. */
  readonly kubeconfigFor: (name: string, token: string) => string;
  readonly kubectl: (args: readonly string[], input?: string) => Promise<Ran>;
  /** Stops the API server and, after `meanwhile`, starts it again with the feature gates on or off. */
  readonly restartApiServer: (gates: boolean, meanwhile?: () => Promise<void>) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const admin = 'admin-token-of-a-test';
const gates = ['PodCertificateRequest', 'ClusterTrustBundle', 'ClusterTrustBundleProjection'];
const controllers = [
  'namespace',
  'serviceaccount',
  'deployment',
  'replicaset',
  'root-ca-certificate-publisher',
  'job',
  'cronjob',
  'replicationcontroller',
  'statefulset',
  'daemonset',
  'garbage-collector',
];

/**
 * Starts etcd, an API server and the controllers that make Pods, on loopback; ready in some seconds. There is no kubelet. Whoever is
 * told to end takes them along, unless the caller wants to see to that once they run.
 */
export async function startControlPlane(say: (line: string) => void, keepsSignals = false): Promise<ControlPlane> {
  const programs = binaries(say);
  const folder = mkdtempSync(join(tmpdir(), 'signet-cluster-'));
  const [clients, peers, secure] = await freePorts(3);
  const server = `https://127.0.0.1:${secure}`;
  const running = new Set<ChildProcess>();
  const start = (program: string, args: readonly string[]) => {
    const log = openSync(join(folder, `${program}.log`), 'a');
    // A group of its own: Ctrl-C is for whoever has started it.
    const child = spawn(join(programs, program), args, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const takeAlong = (signal?: NodeJS.Signals | number) => {
    for (const child of running) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
    if (typeof signal === 'string') process.kill(process.pid, signal);
  };
  for (const signal of signals) process.once(signal, takeAlong);
  process.once('exit', takeAlong);
  writeKeys(folder);
  const kubeconfig = writeKubeconfig(folder, 'admin', server, admin);
  start('etcd', [
    ...['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync', '--log-level', 'error'],
    ...[
      '--listen-client-urls',
      `http://127.0.0.1:${clients}`,
      '--advertise-client-urls',
      `http://127.0.0.1:${clients}`,
    ],
    ...[
      '--listen-peer-urls',
      `http://127.0.0.1:${peers}`,
      '--initial-advertise-peer-urls',
      `http://127.0.0.1:${peers}`,
    ],
    ...['--initial-cluster', `default=http://127.0.0.1:${peers}`],
  ]);
  const apiServer = (on: boolean) => start('kube-apiserver', apiServerArgs(folder, clients ?? 0, secure ?? 0, on));
  let api = apiServer(true);
  const stop = async () => {
    // Nobody needs what is in there, so nobody says good-bye.
    await Promise.all([...running].map((child) => ended(child, 'SIGKILL')));
    rmSync(folder, { recursive: true, force: true });
    for (const signal of [...signals, 'exit']) process.removeListener(signal, takeAlong);
  };
  try {
    await ready(server, folder, running);
    start('kube-controller-manager', [
      ...['--kubeconfig', kubeconfig, '--service-account-private-key-file', join(folder, 'sa.key')],
      ...['--root-ca-file', join(folder, 'certs', 'apiserver.crt'), '--leader-elect=false'],
      ...['--bind-address', '127.0.0.1', '--secure-port', '0', '--use-service-account-credentials=false'],
      `--controllers=${controllers.map((name) => `${name}-controller`).join(',')}`,
    ]);
  } catch (error) {
    await stop();
    throw error;
  }
  if (keepsSignals) for (const signal of signals) process.removeListener(signal, takeAlong);
  return {
    folder,
    server,
    kubeconfig,
    kubeconfigFor: (name, token) => writeKubeconfig(folder, name, server, token),
    kubectl: (args, input) => run(join(programs, 'kubectl'), ['--kubeconfig', kubeconfig, ...args], input),
    restartApiServer: async (on, meanwhile) => {
      await ended(api);
      await meanwhile?.();
      api = apiServer(on);
      await ready(server, folder, running);
    },
    stop,
  };
}

function apiServerArgs(folder: string, etcd: number, port: number, on: boolean): readonly string[] {
  return [
    ...[
      '--etcd-servers',
      `http://127.0.0.1:${etcd}`,
      '--bind-address',
      '127.0.0.1',
      '--advertise-address',
      '127.0.0.1',
    ],
    ...['--secure-port', String(port), '--cert-dir', join(folder, 'certs'), '--authorization-mode', 'RBAC'],
    ...['--service-account-issuer', 'https://kubernetes.default.svc'],
    ...[
      '--service-account-signing-key-file',
      join(folder, 'sa.key'),
      '--service-account-key-file',
      join(folder, 'sa.pub'),
    ],
    ...['--token-auth-file', join(folder, 'tokens.csv'), '--service-cluster-ip-range', '10.0.0.0/24'],
    '--endpoint-reconciler-type=none',
    `--feature-gates=${gates.map((gate) => `${gate}=${on}`).join(',')}`,
    `--runtime-config=certificates.k8s.io/v1beta1=${on}`,
  ];
}

/** The keys that ServiceAccount tokens are signed with, and the token of the administrator. */
function writeKeys(folder: string): void {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const write = (name: string, text: string | Buffer) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  write('sa.key', privateKey.export({ type: 'pkcs1', format: 'pem' }));
  write('sa.pub', publicKey.export({ type: 'spki', format: 'pem' }));
  write('tokens.csv', `${admin},admin,admin,"system:masters"\n`);
  mkdirSync(join(folder, 'certs'));
}

function writeKubeconfig(folder: string, name: string, server: string, token: string): string {
  const file = join(folder, `${name}.kubeconfig`);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'local', cluster: { server, 'certificate-authority': join(folder, 'certs', 'apiserver.crt') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name: 'local', context: { cluster: 'local', user: name } }],
    'current-context': 'local',
  };
  writeFileSync(file, JSON.stringify(config, undefined, 2), { mode: 0o600 });
  return file;
}

async function ready(server: string, folder: string, running: ReadonlySet<ChildProcess>): Promise<void> {
  const patience = Date.now() + 120_000;
  const begun = running.size;
  for (;;) {
    if (running.size < begun)
      throw new Error(`etcd or the API server has ended; its last words:\n${lastWords(folder)}`);
    if (await answersWell(`${server}/readyz`, join(folder, 'certs', 'apiserver.crt'))) return;
    if (Date.now() > patience)
      throw new Error(`the API server is not ready after two minutes; its last words:\n${lastWords(folder)}`);
    await delay(200);
  }
}

function answersWell(url: string, caFile: string): Promise<boolean> {
  return new Promise((resolve) => {
    let ca: string;
    try {
      ca = readFileSync(caFile, 'utf8');
    } catch {
      return resolve(false);
    }
    const headers = { authorization: `Bearer ${admin}` };
    https
      .get(url, { ca, headers, timeout: 2000, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      })
      .on('timeout', () => resolve(false))
      .on('error', () => resolve(false));
  });
}

function lastWords(folder: string): string {
  try {
    return readFileSync(join(folder, 'kube-apiserver.log'), 'utf8').split('\n').slice(-15).join('\n');
  } catch {
    return '(none)';
  }
}

/** Ends a process that we have started, by its pid, and waits for it. */
export function ended(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const impatient = setTimeout(() => child.kill('SIGKILL'), 15_000);
    child.once('exit', () => {
      clearTimeout(impatient);
      resolve();
    });
    child.kill(signal);
  });
}

/** Runs a program to its end. */
export function run(program: string, args: readonly string[], input = ''): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      out += piece;
    });
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      err += piece;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? -1, out, err }));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** Ports that nobody listens on now; all are held until the last is found, so that they differ. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      return server;
    }),
  );
  return Promise.all(
    servers.map(async (server) => {
      const address = server.address();
      await new Promise<void>((done) => server.close(() => done()));
      return typeof address === 'object' && address !== null ? address.port : 0;
    }),
  );
}
