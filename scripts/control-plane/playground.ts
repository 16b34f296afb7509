import { spawn } from 'node:child_process';
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { makeAuthority } from '../../src/server/certificates/make.js';
import { binaries } from './binaries.js';
import { ended, freePorts, run, startControlPlane } from './start.js';

// `npm run cluster`: a control plane with signet beside it, for a person to play with. Ctrl-C ends all of it.

const say = (line: string) => process.stderr.write(`${line}\n`);

say('starting etcd, an API server and its controllers …');
const plane = await startControlPlane(say, true).catch((error: unknown) => {
  say(`\n${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
let isOver = false;
const over = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      isOver = true;
      resolve();
    });
});
const [port = 0, adminPort = 0] = await freePorts(2);

async function apply(text: string): Promise<void> {
  const { code, err } = await plane.kubectl(['apply', '--server-side', '-f', '-'], text);
  if (code !== 0) throw new Error(err);
}

async function install(): Promise<void> {
  const program = 'dist/signet.js';
  const { out } = await run(process.execPath, [program, 'install', '--url', `https://127.0.0.1:${port}`]);
  const { cert } = await makeAuthority('root.linkerd.cluster.local', {
    from: Date.now() - 60_000,
    ms: 365 * 86_400_000,
  });
  const meta = (name: string, annotations = {}) => ({ metadata: { name, annotations } });
  const objects = [
    { apiVersion: 'v1', kind: 'Namespace', ...meta('linkerd') },
    { apiVersion: 'v1', kind: 'Namespace', ...meta('demo', { 'linkerd.io/inject': 'enabled' }) },
    { apiVersion: 'v1', kind: 'Namespace', ...meta('demo-without') },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'linkerd-identity-trust-roots', namespace: 'linkerd' },
      data: { 'ca-bundle.crt': cert },
    },
  ];
  await apply(objects.map((one) => JSON.stringify(one)).join('\n---\n'));
  await apply(out);
}

async function serve() {
  const { out } = await plane.kubectl(['create', 'token', 'signet', '-n', 'signet', '--duration=24h']);
  const kubeconfig = plane.kubeconfigFor('signet', out.trim());
  const args = ['serve', '--kubeconfig', kubeconfig, '--self-signed', '--host', '127.0.0.1', '--log-level', 'warn'];
  const addresses = ['--addr', `127.0.0.1:${port}`, '--admin-addr', `127.0.0.1:${adminPort}`];
  // A group of its own: Ctrl-C is for us, and we end it.
  return spawn(process.execPath, ['dist/signet.js', ...args, ...addresses, '--drain-seconds', '0'], {
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
}

function isReady(): Promise<boolean> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port: adminPort, path: '/ready' }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false));
  });
}

try {
  await install();
  const signet = await serve();
  try {
    while (!isOver && !(await isReady())) await delay(100);
    if (!isOver)
      process.stdout.write(`
A Kubernetes API server with signet beside it. Namespace demo has opted in, demo-without has not. There are no nodes: Pods
are made and admitted, and stay Pending.

  export KUBECONFIG=${plane.kubeconfig} PATH="$PATH:${binaries(say)}"

  kubectl create deployment web --image=nginx -n demo && kubectl get pods -n demo -o jsonpath='{..containers[*].name} {..initContainers[*].name}{"\\n"}'
  kubectl create deployment web --image=nginx -n demo-without && node dist/signet.js explain deploy/web -n demo-without
  kubectl run try --image=nginx -n demo --dry-run=server -o yaml

Also: node dist/signet.js doctor, node dist/signet.js audit. Ctrl-C ends everything.
`);
    await over;
  } finally {
    await ended(signet);
  }
} catch (error) {
  if (!isOver) throw error;
} finally {
  await plane.stop();
  say('\nended');
}
