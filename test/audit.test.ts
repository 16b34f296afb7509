import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { binaries } from '../scripts/control-plane/binaries.js';
import type { Json } from '../src/json.js';
import { ItemSplitter } from '../src/manifest/items.js';
import { signet } from './support.js';

const pod = (index: number) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `web-${index}`,
    namespace: index % 2 === 0 ? 'shop' : 'plain',
    labels: { app: 'web', 'pod-template-hash': 'abc' },
    ownerReferences: [{ kind: 'ReplicaSet', name: `web-${index % 50}-abc`, uid: 'u' }],
    annotations: { padding: 'x'.repeat(900) },
  },
  spec: { containers: [{ name: 'app', image: 'registry.example/app:1' }] },
  status: { phase: 'Running' },
});
const shop = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'shop', annotations: { 'linkerd.io/inject': 'enabled' } },
};

t.test('a list is cut into its items however its text comes in', async (t) => {
  const split = (text: string, cuts: readonly number[]): Json[] => {
    const splitter = new ItemSplitter();
    const edges = [0, ...[...cuts].map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
    const found: Json[] = [];
    for (const [index, edge] of edges.entries())
      for (const item of splitter.push(text.slice(edges[index - 1] ?? 0, edge))) found.push(JSON.parse(item));
    splitter.end();
    return found;
  };
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }), { maxLength: 5 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      fc.constantFrom(undefined, 1, 4),
      (items, cuts, indent) => {
        const plain = items.map((item) => JSON.parse(JSON.stringify(item)) as Json);
        const list = JSON.stringify({ apiVersion: 'v1', items: plain, kind: 'List' }, undefined, indent);
        if (JSON.stringify(split(list, cuts)) !== JSON.stringify(plain)) throw new Error(`misread: ${list}`);
        const apart = plain.map((item) => JSON.stringify(item, undefined, indent)).join('\n');
        const objects = plain.filter((item) => !(typeof item === 'object' && item !== null && 'items' in item));
        if (objects.length === plain.length && JSON.stringify(split(apart, cuts)) !== JSON.stringify(plain))
          throw new Error(`misread apart: ${apart}`);
      },
    ),
  );
  t.pass('whatever it holds');
  const cut = new ItemSplitter();
  t.same([...cut.push('{"items": [{"a": 1}')], ['{"a": 1}']);
  t.throws(() => cut.end(), /in the middle/);
  t.throws(() => [...new ItemSplitter().push(']')], /closes nothing/);
});

t.test('a list of many Pods needs no more memory than a few', async (t) => {
  // 100 000 Pods of 1.2 KB: 120 MB of text through a heap of 48 MB, of which the program itself takes a third.
  const child = spawn(process.execPath, ['--max-old-space-size=48', 'dist/signet.js', 'audit', '-'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    out += piece;
  });
  const closed = once(child, 'close');
  child.stdin.write('{"apiVersion": "v1", "items": [');
  for (let index = 0; index < 100_000; index++)
    if (!child.stdin.write(`${JSON.stringify(pod(index))},`)) await once(child.stdin, 'drain');
  child.stdin.end(`${JSON.stringify(shop)}], "kind": "List"}`);
  const [code] = await closed;
  t.equal(code, 1);
  t.match(out, /of 100000 Pods: 50000 without the identity that was asked for/);
  t.equal(out.match(/kubectl rollout restart/g)?.length, 25, 'one command for each owner');
});

t.test('what is no list of Pods is said to be none', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const file of ['package.json.txt', 'README.md']) {
    const { code, err } = await signet(['audit', file]);
    t.equal(code, 2);
    t.ok(err.length > 0, err);
  }
  for (const text of [
    '{}',
    '[]',
    '{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"name":"d"}}]}',
  ]) {
    writeFileSync(join(folder, 'other.json'), text);
    const other = await signet(['audit', join(folder, 'other.json')]);
    t.equal(other.code, 2, text);
    t.match(other.err, /expected what `kubectl get pods,namespaces -A -o json` prints/);
  }
  const { code, err } = await signet(['audit', 'README.md']);
  t.equal(code, 2);
  t.match(err, /README\.md: expected what `kubectl get pods,namespaces -A -o json` prints/);
});

t.test('without programs and without Go the control plane says what it needs', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  const before = { ...process.env };
  t.teardown(() => {
    rmSync(folder, { recursive: true });
    for (const name of ['PATH', 'XDG_CACHE_HOME', 'KUBEBUILDER_ASSETS']) {
      const old = before[name];
      if (old === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = old;
    }
  });
  process.env.PATH = folder;
  process.env.XDG_CACHE_HOME = folder;
  Reflect.deleteProperty(process.env, 'KUBEBUILDER_ASSETS');
  t.throws(() => binaries(() => {}), /set KUBEBUILDER_ASSETS to a folder with etcd.*or install Go 1\.26/);
  process.env.KUBEBUILDER_ASSETS = folder;
  t.throws(() => binaries(() => {}), /KUBEBUILDER_ASSETS is .*, which has no etcd, no kube-apiserver/);
});
