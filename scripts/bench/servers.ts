import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inject } from '../../src/inject/inject.js';
import { meshOf } from '../../src/inject/mesh.js';
import { origins } from '../../src/inject/origin.js';
import { patchOf } from '../../src/inject/patch.js';
import { fromValues } from '../../src/install/from-values.js';
import { webhookConfiguration } from '../../src/install/registration.js';
import { isObject, type JsonObject, listAt, objectAt } from '../../src/json.js';
import { makeAuthority, makeLeaf } from '../../src/server/certificates/make.js';
import { type Loaded, load } from '../../src/values/load.js';
import { freePorts } from '../control-plane/start.js';
import { FakeApi } from '../fake-api.js';

const tuned = {
  'config.linkerd.io/proxy-log-level': 'warn,linkerd=debug',
  'config.linkerd.io/proxy-cpu-request': '100m',
  'config.linkerd.io/skip-outbound-ports': '4222,6222',
};

/**
 * Reviews as the API server sends them, of so many workloads with so many replicas each. Half of the workloads say nothing of their own,
 * half carry three annotations. Replicas differ in the uid of the review and in the name of the token's volume, as they really do.
 */
export function bodies(workloads: number, replicas = 1): readonly string[] {
  const all: string[] = [];
  for (let replica = 0; replica < replicas; replica++)
    for (let index = 0; index < workloads; index++) all.push(bodyOf(index, replica));
  return all;
}

function bodyOf(index: number, replica: number): string {
  const number = index * 1009 + replica;
  const volume = number.toString(36).padStart(5, 'b').slice(-5);
  return reviewOf(({ metadata }) => {
    metadata.labels.app = `web-${index}`;
    if (index % 2 === 1) metadata.annotations = { ...metadata.annotations, ...tuned };
  })
    .replace(/"uid":"[^"]+"/, `"uid":"00000000-0000-4000-8000-${String(number).padStart(12, '0')}"`)
    .replaceAll(/kube-api-access-\w{5}/g, `kube-api-access-${volume}`);
}

/** The Pod of the example review, as far as it is changed here. */
export interface ExamplePod {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: { containers: Record<string, unknown>[] };
}

const example = readFileSync('fixtures/reviews/as-the-api-server-sends-it.json', 'utf8');

/** One review of the example Pod, changed. */
export function reviewOf(change: (object: ExamplePod) => void): string {
  const review = JSON.parse(example);
  change(review.request.object);
  return JSON.stringify(review);
}

/** A server under measurement. */
export interface Running {
  readonly child: ChildProcess;
  readonly port: number;
}

const roots = 'linkerd-identity-trust-roots';

/** Certificate and operations on disk, for servers to start with. */
export class Servers {
  readonly #folder: string;
  readonly #running: ChildProcess[] = [];
  readonly #apis: FakeApi[] = [];
  #key = '';
  #cert = '';
  #authority = '';

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * The webhook in its full configuration, beside an API server with so many namespaces that have all opted in: their cache, the trust
   * roots in each, Events, metrics, and a log that is written. Gives the time from its start until it was ready as well.
   */
  async ours(namespaces: number): Promise<Running & { readonly startMs: number; readonly adminPort: number }> {
    await this.#certificate();
    const api = await this.#apiWith(namespaces);
    const kubeconfig = this.#write(`kubeconfig-${this.#apis.length}`, api.kubeconfig);
    const [port = 0, adminPort = 0] = await freePorts(2);
    const begun = performance.now();
    const child = this.#start([
      ...imageFlags(),
      ...[
        resolve('dist/signet.js'),
        'serve',
        '--kubeconfig',
        kubeconfig,
        '--drain-seconds',
        '0',
        '--host',
        'localhost',
      ],
      ...['--addr', `127.0.0.1:${port}`, '--admin-addr', `127.0.0.1:${adminPort}`],
      ...['--tls-cert', this.#cert, '--tls-key', this.#key],
    ]);
    while (!(await isReady(adminPort))) await goesOn(child, 2);
    return { child, port, adminPort, startMs: performance.now() - begun };
  }

  async #apiWith(namespaces: number): Promise<FakeApi> {
    const api = new FakeApi();
    await api.start();
    this.#apis.push(api);
    const configuration = webhookConfiguration({
      ...{ namespace: 'signet', image: '', replicas: 2, values: '', url: '' },
      ...fromValues(defaults().values),
    });
    const caBundle = Buffer.from(this.#authority).toString('base64');
    api.put('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/signet', {
      ...configuration,
      webhooks: listAt(configuration, 'webhooks').map((entry) => ({
        ...(isObject(entry) ? entry : {}),
        clientConfig: { ...objectAt(entry, 'clientConfig'), caBundle },
      })),
    });
    const names = ['linkerd', 'shop', ...Array.from({ length: namespaces - 1 }, (_, index) => `n${index}`)];
    for (const name of names) {
      const annotations: JsonObject = name === 'linkerd' ? {} : { 'linkerd.io/inject': 'enabled' };
      api.put(`/api/v1/namespaces/${name}`, { metadata: { name, annotations } });
      api.put(`/api/v1/namespaces/${name}/configmaps/${roots}`, {
        metadata: { name: roots, namespace: name, labels: { 'signet.dev/copy': 'trust-roots' } },
        data: { 'ca-bundle.crt': this.#authority },
      });
    }
    return api;
  }

  /** The least that a webhook in Node can be. */
  async bare(): Promise<Running> {
    await this.#certificate();
    const operations = this.#write('operations.json', JSON.stringify(bodies(2).map(operationsFor)));
    const [port = 0] = await freePorts(1);
    const server = resolve('build/scripts/bench/bare-server.js');
    const child = this.#start([server, String(port), this.#key, this.#cert, operations]);
    while (!(await answers(port))) await goesOn(child, 10);
    return { child, port };
  }

  stop(): void {
    for (const child of this.#running) child.kill('SIGKILL');
    for (const api of this.#apis) void api.stop();
  }

  #start(args: readonly string[]): ChildProcess {
    const log = openSync(join(this.#folder, `log-${this.#running.length}`), 'w');
    const child = spawn(process.execPath, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#running.push(child);
    return child;
  }

  async #certificate(): Promise<void> {
    if (this.#key !== '') return;
    const lifetime = { from: Date.now(), ms: 86_400_000 };
    const authority = await makeAuthority('bench', lifetime);
    this.#authority = authority.cert;
    const pair = await makeLeaf(authority, ['localhost'], ['127.0.0.1'], lifetime);
    this.#key = this.#write('tls.key', pair.key);
    this.#cert = this.#write('tls.crt', pair.cert);
  }

  #write(name: string, text: string): string {
    writeFileSync(join(this.#folder, name), text);
    return join(this.#folder, name);
  }
}

/** What the image gives to Node: it is measured as it is installed. */
function imageFlags(): readonly string[] {
  const line = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync('Dockerfile', 'utf8'))?.[1] ?? '[]';
  const words: readonly string[] = JSON.parse(line);
  return words.filter((word) => word.startsWith('--'));
}

function defaults(): Loaded {
  const result = load([]);
  if ('mistakes' in result) throw new Error('the defaults are not valid');
  return result.loaded;
}

function operationsFor(body: string): unknown {
  const mesh = meshOf(defaults(), 'signet', () => '');
  const namespace = { name: 'shop', labels: {}, annotations: { 'linkerd.io/inject': 'enabled' } };
  const { request } = JSON.parse(body);
  return patchOf(inject(mesh, { object: request.object, namespace, origin: origins.webhook }).additions);
}

/** Waits a moment for a server that is on its way; one that has ended will never be ready. */
async function goesOn(child: ChildProcess, ms: number): Promise<void> {
  if (child.exitCode !== null) throw new Error(`the server has ended with ${child.exitCode}`);
  await delay(ms);
}

function isReady(port: number): Promise<boolean> {
  return new Promise((done) => {
    get({ host: '127.0.0.1', port, path: '/ready', agent: false }, (response) => {
      response.resume();
      done(response.statusCode === 200);
    }).on('error', () => done(false));
  });
}

async function answers(port: number): Promise<boolean> {
  return (await post(port, bodies(1)[0] ?? '', 2000)).isInjected;
}

/** What came of one request. */
export interface Posted {
  /** An answer came in time, and had a patch in it. */
  readonly isInjected: boolean;
  readonly ms: number;
}

/** Sends one review, on a connection of its own unless an agent keeps one. */
export function post(port: number, body: string, timeout: number, agent: Agent | false = false): Promise<Posted> {
  const begun = performance.now();
  return new Promise((done) => {
    const end = (isInjected: boolean) => done({ isInjected, ms: performance.now() - begun });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = httpsRequest(
      {
        host: '127.0.0.1',
        port,
        path: '/inject',
        method: 'POST',
        headers,
        timeout,
        agent,
        rejectUnauthorized: false,
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        response.on('end', () => end(text.includes('"patchType":"JSONPatch","patch":"')));
      },
    );
    request.on('timeout', () => request.destroy(new Error('too late')));
    request.on('error', () => end(false));
    request.end(body);
  });
}

/** The processor time that a process has used, in microseconds, as the scheduler has counted it for each of its threads. */
export function cpuMicros({ pid }: ChildProcess): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.reduce((sum, task) => sum + nanoseconds(`/proc/${pid}/task/${task}/schedstat`) / 1000, 0);
}

/** A thread may end while we look. */
function nanoseconds(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0]);
  } catch {
    return 0;
  }
}

/** The memory that a process has resident, in MB. */
export function residentMb({ pid }: ChildProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}
