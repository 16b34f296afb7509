import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { until } from '../scripts/fake-api.js';
import { wantsColour } from '../src/commands/terminal.js';
import { documentsIn, likeTheirs, pick, read, signet } from './support.js';

// The program as it is shipped: dist/signet.js in a process of its own.
const program = join(process.cwd(), 'dist/signet.js');
const asking = join(process.cwd(), 'fixtures/a-deployment-that-asks-gets-the-proxy-as-a-native-sidecar/input.yaml');

function run(args: readonly string[], options: { input?: string; env?: Record<string, string>; cwd?: string } = {}) {
  const { env, ...rest } = options;
  return spawnSync(process.execPath, [program, ...args], {
    encoding: 'utf8',
    ...rest,
    env: { ...process.env, ...env },
  });
}

function scratch(t: Test, files: Record<string, string | Uint8Array> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

t.test('a manifest comes in on standard input and goes out on standard output', async (t) => {
  const ran = run(['inject', '-'], { input: read(asking) });
  t.equal(ran.status, 0);
  t.equal(pick(documentsIn(ran.stdout)[0], '/spec/template/spec/initContainers/1/name'), 'linkerd-proxy');
  t.equal(ran.stderr, 'signet: 1 injected, 0 skipped\n');
  t.equal(ran.stdout, (await signet(['inject', asking])).out, 'and is the same as in a test');
  const back = run(['uninject', '-'], { input: ran.stdout });
  t.equal(back.stdout, read(asking));
});

t.test('upstream cases come out the same through the program', async (t) => {
  const cases = process.env.LINKERD_CASES ?? '../shared/linkerd-cases';
  for (const name of [
    'cli-inject-00-emojivoto_deployment',
    'cli-inject-09-emojivoto_statefulset',
    'cli-inject-nonnative-16-contour',
  ]) {
    const folder = `${cases}/${name}`;
    let expected: string;
    try {
      expected = read(`${folder}/expected.yaml`);
    } catch {
      t.comment(`no upstream cases at ${cases}`);
      continue;
    }
    const ran = run([
      'inject',
      '--all',
      '-f',
      `${folder}/values.yaml`,
      '--set',
      'signet.preset=linkerd',
      `${folder}/input.yaml`,
    ]);
    t.equal(ran.status, 0, ran.stderr);
    const whole = (text: string) =>
      documentsIn(text)
        .filter((one) => one !== null)
        .map((one) => likeTheirs(one));
    t.same(whole(ran.stdout), whole(expected), name);
  }
});

t.test('nothing is printed when something is wrong, even after good documents', async (t) => {
  const folder = scratch(t, { 'mixed.yaml': `${read(asking)}---\nno: kind\n` });
  const ran = run(['inject', 'mixed.yaml'], { cwd: folder });
  t.equal(ran.status, 2);
  t.equal(ran.stdout, '');
  t.match(ran.stderr, /^mixed\.yaml:23:1: this is no Kubernetes object: it has no kind\n {4}no: kind\n {4}\^\n$/);
});

t.test('all mistakes are told at once, up to twenty', async (t) => {
  const folder = scratch(t, { 'bad.yaml': Array.from({ length: 30 }, () => 'a: [\n').join('---\n') });
  const ran = run(['inject', 'bad.yaml'], { cwd: folder });
  t.equal(ran.stderr.match(/^bad\.yaml:\d+:\d+: /gm)?.length, 20);
  t.match(ran.stderr, /too many mistakes; the rest was not read/);
});

t.test('a broken pipe ends quietly', async (t) => {
  const folder = scratch(t, { 'many.yaml': `${Array.from({ length: 600 }, () => read(asking)).join('---\n')}` });
  const child = spawn(process.execPath, [program, 'inject', join(folder, 'many.yaml')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (data) => {
    errors += data;
  });
  child.stdout.once('data', () => child.stdout.destroy());
  const code = await new Promise((resolve) => child.on('close', resolve));
  t.equal(code, 0);
  t.equal(errors, '');
});

t.test('a full disk is an error, and so is a folder for temporary files that is not there', async (t) => {
  const full = spawnSync('/bin/sh', ['-c', `"${process.execPath}" "${program}" inject "${asking}" > /dev/full`], {
    encoding: 'utf8',
  });
  t.equal(full.status, 2);
  t.match(full.stderr, 'cannot write the output: no space left on the device');
  const folder = scratch(t, { 'many.yaml': Array.from({ length: 600 }, () => read(asking)).join('---\n') });
  const ran = run(['inject', 'many.yaml'], { cwd: folder, env: { TMPDIR: '/nowhere/at/all' } });
  t.equal(ran.status, 2);
  t.equal(ran.stdout, '');
  t.match(
    ran.stderr,
    /cannot write a temporary file in \/nowhere\/at\/all: no such file or directory; TMPDIR names another folder/,
  );
});

t.test('a document of more than 8 MiB is refused, one of many keys is read in linear time', async (t) => {
  const keys = (count: number) =>
    `kind: ConfigMap\ndata:\n${Array.from({ length: count }, (_, index) => `  "key:${index}": é\n`).join('')}`;
  const folder = scratch(t, {
    'large.yaml': `kind: ConfigMap\ndata: ${'x'.repeat(9 * 1024 * 1024)}\n`,
    'few.yaml': keys(4_000),
    'many.yaml': keys(32_000),
  });
  const large = run(['inject', 'large.yaml'], { cwd: folder });
  t.equal(large.status, 2);
  t.match(large.stderr, 'large.yaml:1:1: the document that begins here is larger than 8 MiB');
  const time = (name: string) => {
    const start = performance.now();
    t.equal(run(['inject', name], { cwd: folder }).status, 0);
    return performance.now() - start;
  };
  time('few.yaml');
  const [few, many] = [time('few.yaml'), time('many.yaml')];
  t.ok(many < few * 16, `8 times the keys took ${(many / few).toFixed(1)} times as long`);
});

t.test('colour is for terminals, and for those who want it', async (t) => {
  t.ok(wantsColour({}, true));
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) t.notOk(wantsColour(env, true));
  t.ok(wantsColour({ NO_COLOR: '' }, true), 'an empty NO_COLOR says nothing');
  t.notOk(wantsColour({}, false));
  const plain = await signet(['diff', asking]);
  t.notMatch(plain.out, /\u001b/);
  const coloured = await signet(['diff', asking], { isColoured: true });
  t.match(coloured.out, /\u001b\[32m\+ .*\u001b\[39m/);
  t.equal(stripped(coloured.out), plain.out);
  const explained = await signet(['explain', asking], { isColoured: true });
  t.equal(stripped(explained.out), (await signet(['explain', asking])).out);
});

t.test('a diff is one that patch(1) would take', async (t) => {
  const folder = scratch(t, { 'input.yaml': read(asking) });
  const diff = run(['diff', 'input.yaml'], { cwd: folder });
  const patched = spawnSync('patch', ['-o', 'out.yaml', 'input.yaml'], {
    cwd: folder,
    input: diff.stdout,
    encoding: 'utf8',
  });
  if (patched.error !== undefined) return t.comment('no patch(1) on this machine');
  t.equal(patched.status, 0, patched.stdout + patched.stderr);
  return t.equal(read(join(folder, 'out.yaml')), run(['inject', 'input.yaml'], { cwd: folder }).stdout);
});

t.test('progress is shown on a terminal, and wiped away', async (t) => {
  const folder = scratch(t, {
    'many.yaml': Array.from({ length: 3000 }, () => read(asking).replaceAll('nginx', 'é')).join('---\n'),
  });
  const start = Date.now();
  t.intercept(Date, 'now', {
    value: (() => {
      let now = start;
      return () => (now += 400);
    })(),
  });
  const ran = await signet(['inject', join(folder, 'many.yaml')], { showsProgress: true });
  t.match(ran.err, /\r\d+ documents …/);
  t.match(ran.err, /\r\u001b\[Ksignet: 3000 injected/);
});

t.test('addresses are fetched over https alone', async (t) => {
  const ran = await signet(['inject', 'http://example.com/a.yaml']);
  t.equal(ran.code, 2);
  t.match(ran.err, 'cannot read http://example.com/a.yaml: only https:// addresses are fetched');
  t.intercept(globalThis, 'fetch', { value: async () => new Response(read(asking)) });
  const fetched = await signet(['inject', 'https://example.com/a.yaml']);
  t.equal(fetched.out, (await signet(['inject', asking])).out);
  t.intercept(globalThis, 'fetch', { value: async () => new Response('', { status: 404, statusText: 'Not Found' }) });
  t.match((await signet(['inject', 'https://example.com/a.yaml'])).err, 'the server answered 404 Not Found');
  t.intercept(globalThis, 'fetch', {
    value: () => Promise.reject(new TypeError('fetch failed', { cause: new Error('no route to host') })),
  });
  t.match(
    (await signet(['inject', 'https://example.com/a.yaml'])).err,
    'cannot fetch https://example.com/a.yaml: no route to host',
  );
});

t.test('the webhook starts, answers, is told to stop, and ends with 0', async (t) => {
  const folder = scratch(t);
  const ca = join(folder, 'ca.crt');
  const flags = [
    'serve',
    '--standalone',
    '--addr',
    '127.0.0.1:0',
    '--admin-addr',
    '127.0.0.1:0',
    '--drain-seconds',
    '0',
    '--ca-file',
    ca,
  ];
  const child = spawn(process.execPath, [program, ...flags, '--namespaces', 'fixtures/reviews/namespaces.yaml'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  await until(() => out.includes('Ctrl-C ends it') && out.includes('"ready"'));
  const [, address = ''] = /(https:\/\/localhost:\d+\/inject)/.exec(out) ?? [];
  const answer = await new Promise<string>((resolve, reject) => {
    const request = https.request(
      address,
      { method: 'POST', ca: read(ca), headers: { 'content-type': 'application/json' } },
      (response) => {
        let text = '';
        response.on('data', (piece) => {
          text += piece;
        });
        response.on('end', () => resolve(text));
      },
    );
    request.on('error', reject);
    request.end(read('fixtures/reviews/a-pod-that-asks.json'));
  });
  t.equal(JSON.parse(answer).response.patchType, 'JSONPatch');
  // One that connects and says nothing, and one that does not even shake hands: neither may hold it back.
  const { port } = new URL(address);
  const silent = await new Promise<TLSSocket>((done) => {
    const socket = connectTls({ port: Number(port), host: '127.0.0.1', ca: read(ca), servername: 'localhost' }, () =>
      done(socket),
    );
  });
  const raw = connectPlain(Number(port), '127.0.0.1');
  for (const socket of [silent, raw]) socket.on('error', () => {});
  await new Promise((done) => raw.once('connect', done));
  const told = performance.now();
  child.kill('SIGTERM');
  t.equal(await ended, 0);
  t.ok(performance.now() - told < 10_000, 'well before anybody would lose patience');
  t.match(out, /"msg":"stopping"/);
  t.notMatch(out, /gave up/);
});

t.test('the webhook does not start with what is wrong, and says what it is', async (t) => {
  const folder = scratch(t, { 'values.yaml': 'proxy:\n  uid: x\nsignet: {presett: a}\n' });
  const err = (...flags: string[]) => {
    const ran = run(['serve', ...flags], {
      env: { KUBECONFIG: '/nowhere', KUBERNETES_SERVICE_HOST: '', HOME: folder },
    });
    t.equal(ran.status, 2, ran.stderr);
    return ran.stderr;
  };
  const values = err('--standalone', '-f', join(folder, 'values.yaml'));
  t.match(values, /values\.yaml:2:3: proxy\.uid: expected a whole number/);
  t.match(values, /values\.yaml:3:10: signet\.presett: expected a known key/);
  t.match(err('--standalone', '--tls-cert', 'x'), '--tls-cert and --tls-key belong together');
  t.match(err('--standalone', '--tls-cert', 'x', '--tls-key', 'y'), 'no such file or directory');
  t.match(
    err('--standalone', '--addr', 'nonsense', '--ca-file', join(folder, 'ca')),
    'an address is HOST:PORT or :PORT',
  );
  t.match(err('--client-name', 'x', '--standalone'), '--client-name needs --client-ca');
  t.match(err('--kubeconfig', join(folder, 'none')), 'cannot find the cluster');
});

t.test('values can come in on standard input, and are read once for all who ask', async (t) => {
  const { status, stdout, stderr } = run(['install', '-f', '-'], { input: 'proxy: {logLevel: debug}\n' });
  t.equal(status, 0, stderr);
  t.match(stdout, 'proxy: {logLevel: debug}');
});

t.test('the help names every verb and every flag of it', async (t) => {
  const { out } = await signet(['--help']);
  for (const verb of ['inject', 'uninject', 'diff', 'explain', 'values']) {
    t.match(out, new RegExp(`^ {2}${verb} `, 'm'));
    t.match((await signet([verb, '--help'])).out, new RegExp(`^signet ${verb} `));
  }
  t.match((await signet(['inject', '-h'])).out, '-f, --values FILE');
  t.match((await signet(['--version'])).out, /^\d+\.\d+\.\d+\n$/);
  t.equal((await signet([])).code, 2);
});

t.test('flags that are wrong are answered in words', async (t) => {
  const err = async (...args: string[]) => {
    const ran = await signet(args);
    t.equal(ran.code, 2);
    t.equal(ran.out, '');
    return ran.err;
  };
  t.match(await err('inject'), 'name at least one file');
  t.match(await err('inject', '--namespace'), 'the flag --namespace needs a value');
  t.match(await err('inject', '--all=yes', asking), 'the flag --all takes no value');
  t.match(await err('inject', '-o', 'xml', asking), '--output takes yaml or json; found "xml"');
  t.match(await err('explain', '-o', 'yaml', asking), '--output takes json here; found "yaml"');
  t.match(await err('inject', '--set', 'nothing', asking), '--set takes PATH=VALUE');
  t.match(await err('inject', '--template', 'Rollout', asking), '--template takes KIND=PATH');
  t.match(await err('inject', '-f', 'nowhere.yaml', asking), 'cannot read nowhere.yaml: no such file or directory');
  t.match(await err('values', 'x.yaml'), 'signet values takes no files; did you mean -f x.yaml?');
  t.match(await err('inject', scratch(t)), 'there is no *.yaml, *.yml or *.json');
});

t.test('the package needs nothing beside it', async (t) => {
  const folder = scratch(t);
  const packed = spawnSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder, '--json'], {
    encoding: 'utf8',
  });
  t.equal(packed.status, 0, packed.stderr);
  const [{ filename }] = JSON.parse(packed.stdout);
  t.equal(spawnSync('tar', ['xzf', filename], { cwd: folder }).status, 0);
  const manifest = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8'));
  t.equal(manifest.dependencies, undefined, 'nothing to install');
  const ran = spawnSync(process.execPath, [join(folder, 'package', manifest.bin.signet), 'inject', asking], {
    cwd: folder,
    encoding: 'utf8',
  });
  t.equal(ran.status, 0, ran.stderr);
  t.equal(ran.stdout, (await signet(['inject', asking])).out);
});

function stripped(text: string): string {
  return text.replaceAll(/\u001b\[\d+m/g, '');
}
