import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { binaries } from '../../scripts/control-plane/binaries.js';
import {
  type ControlPlane,
  ended,
  freePorts,
  type Ran,
  run,
  startControlPlane,
} from '../../scripts/control-plane/start.js';
import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../../src/json.js';
import { makeAuthority } from '../../src/server/certificates/make.js';

const program = 'dist/signet.js';

/** A running webhook. */
export interface Replica {
  readonly child: ChildProcess;
  readonly port: number;
  readonly adminPort: number;
  readonly log: () => string;
  readonly isReady: () => Promise<boolean>;
}

/** A control plane with signet installed beside it, as an administrator would do it from a laptop. */
export class Cluster {
  readonly plane: ControlPlane;
  /** The address that the API server calls: of the first replica, unless a test puts something else there. */
  readonly port: number;
  readonly replicas: Replica[] = [];
  token = '';

  constructor(plane: ControlPlane, port: number) {
    this.plane = plane;
    this.port = port;
  }

  kubectl(args: string, input?: string): Promise<Ran> {
    return this.plane.kubectl(args.split(' '), input);
  }

  /** Applies manifests, and fails with kubectl's own words. */
  async apply(...manifests: readonly JsonObject[]): Promise<Ran> {
    const ran = await this.kubectl('apply -f -', manifests.map((one) => JSON.stringify(one)).join('\n---\n'));
    if (ran.code !== 0) throw new Error(ran.err);
    return ran;
  }

  async get(what: string): Promise<JsonObject> {
    const { code, out, err } = await this.kubectl(`get ${what} -o json`);
    const json: Json = code === 0 ? JSON.parse(out) : null;
    if (!isObject(json)) throw new Error(err);
    return json;
  }

  async pods(namespace: string, selector = ''): Promise<readonly JsonObject[]> {
    const list = await this.get(`pods -n ${namespace}${selector === '' ? '' : ` -l ${selector}`}`);
    return listAt(list, 'items').filter(isObject);
  }

  signet(args: readonly string[], input?: string): Promise<Ran> {
    return run(process.execPath, [program, ...args], input);
  }

  /** `signet install … | kubectl apply --server-side -f -`, and nothing else. */
  async install(...flags: readonly string[]): Promise<string> {
    const { out, code, err } = await this.signet(['install', '--url', `https://127.0.0.1:${this.port}`, ...flags]);
    if (code !== 0) throw new Error(err);
    const applied = await this.kubectl('apply --server-side -f -', out);
    if (applied.code !== 0) throw new Error(applied.err);
    return out;
  }

  /** The same, over what somebody has changed by hand. */
  async reinstall(...flags: readonly string[]): Promise<void> {
    const { out } = await this.signet(['install', '--url', `https://127.0.0.1:${this.port}`, ...flags]);
    const applied = await this.kubectl('apply --server-side --force-conflicts -f -', out);
    if (applied.code !== 0) throw new Error(applied.err);
  }

  /** Starts `signet serve` with its own ServiceAccount's token, and no other right than it has. */
  async serve(port = this.port, ...flags: readonly string[]): Promise<Replica> {
    if (this.token === '') {
      const { out, err, code } = await this.kubectl('create token signet -n signet --duration=2h');
      if (code !== 0) throw new Error(err);
      this.token = out.trim();
    }
    const kubeconfig = this.plane.kubeconfigFor('signet', this.token);
    const [adminPort = 0] = await freePorts(1);
    const logFile = join(this.plane.folder, `signet-${port}-${adminPort}.log`);
    const log = openSync(logFile, 'a');
    const args = ['serve', '--kubeconfig', kubeconfig, '--self-signed', '--host', '127.0.0.1', '--drain-seconds', '2'];
    const addresses = ['--addr', `127.0.0.1:${port}`, '--admin-addr', `127.0.0.1:${adminPort}`];
    const child = spawn(process.execPath, [program, ...args, ...addresses, ...flags], { stdio: ['ignore', log, log] });
    const replica: Replica = {
      child,
      port,
      adminPort,
      log: () => readFileSync(logFile, 'utf8'),
      isReady: () => answersReady(adminPort),
    };
    this.replicas.push(replica);
    return replica;
  }

  /** Starts one, and waits until it says that it is ready. */
  async serveReady(port = this.port, ...flags: readonly string[]): Promise<Replica> {
    const replica = await this.serve(port, ...flags);
    await eventually(() => replica.isReady(), `signet is not ready:\n${replica.log().slice(-2000)}`);
    return replica;
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map(({ child }) => ended(child, 'SIGKILL')));
    await this.plane.stop();
  }
}

function answersReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/ready', timeout: 1000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    })
      .on('error', () => resolve(false))
      .on('timeout', () => resolve(false));
  });
}

/** Starts a cluster for one file of tests. Without the programs, and without Go, the file is skipped, but for CI. */
export async function cluster(): Promise<Cluster | undefined> {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  try {
    binaries(say);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'NoControlPlane' || process.env.CI) throw error;
    t.plan(0, error.message);
    return undefined;
  }
  const [port = 0] = await freePorts(1);
  const made = new Cluster(await startControlPlane(say), port);
  t.teardown(() => made.stop());
  const { cert } = await makeAuthority('root.linkerd.cluster.local', {
    from: Date.now() - 60_000,
    ms: 365 * 86_400_000,
  });
  await made.apply(namespace('linkerd'));
  await made.apply(rootsIn('linkerd', cert));
  return made;
}

/** Waits until something holds, asking again and again; what it waits for is another process, so it sleeps between. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  otherwise: string,
  ms = 60_000,
): Promise<void> {
  for (const patience = Date.now() + ms; ; ) {
    if (await holds()) return;
    if (Date.now() > patience) throw new Error(`waited ${ms / 1000} s in vain: ${otherwise}`);
    await delay(100);
  }
}

export function namespace(name: string, labels: JsonObject = {}, annotations: JsonObject = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels, annotations } };
}

export function rootsIn(name: string, pem: string): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'linkerd-identity-trust-roots', namespace: name },
    data: { 'ca-bundle.crt': pem },
  };
}

/** A Pod template; hardened, so that no namespace has anything against it. */
export function template(labels: JsonObject, annotations: JsonObject = {}, spec: JsonObject = {}): JsonObject {
  return {
    metadata: { labels, annotations },
    spec: {
      containers: [
        {
          name: 'app',
          image: 'registry.example/app:1',
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
            runAsNonRoot: true,
            runAsUser: 65534,
            seccompProfile: { type: 'RuntimeDefault' },
          },
        },
      ],
      ...spec,
    },
  };
}

export function deployment(name: string, where: string, replicas: number, annotations: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: where },
    spec: { replicas, selector: { matchLabels: { app: name } }, template: template({ app: name }, annotations) },
  };
}

export function pod(
  name: string,
  where: string,
  labels: JsonObject,
  annotations: JsonObject,
  spec: JsonObject = {},
): JsonObject {
  const made = template(labels, annotations, spec);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: where, ...objectAt(made, 'metadata') },
    spec: objectAt(made, 'spec'),
  };
}

/** Whether a Pod has a container of this name, in either list. */
export function hasContainer(one: Json, name = 'linkerd-proxy'): boolean {
  const spec = objectAt(one, 'spec');
  return [...listAt(spec, 'initContainers'), ...listAt(spec, 'containers')].some(
    (container) => textAt(container, 'name') === name,
  );
}
