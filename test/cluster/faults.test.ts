import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ended, freePorts } from '../../scripts/control-plane/start.js';
import { at, type JsonObject, objectAt, textAt } from '../../src/json.js';
import { Balancer } from './balancer.js';
import { cluster, deployment, eventually, hasContainer, namespace, pod } from './harness.js';

// Whatever breaks: no Pod that asked runs without its identity, and no other Pod is ever stopped.

const optIn = { 'linkerd.io/inject': 'enabled' };
const made = await cluster();
if (made !== undefined) {
  const world = made;
  const values = join(world.plane.folder, 'values.yaml');
  writeFileSync(values, 'proxy: {logLevel: info}\n');
  const short = ['--values', values, '--cert-lifetime', '6s', '--ca-lifetime', '18s'];
  const balancer = new Balancer();
  t.teardown(() => balancer.stop());
  const ports = await freePorts(4);

  /** What became of a stream of Pods. */
  interface Counts {
    asked: number;
    refused: number;
    uninjected: number;
    plain: number;
    plainRefused: number;
    /** Of the refused, those that came when all was well again. */
    late: number;
    readonly words: Set<string>;
  }

  /** What a fault can do with the stream that it happens in. */
  interface Stream {
    /** Waits until so many more Pods have come. */
    readonly more: (pods: number) => Promise<void>;
    /** All is well again: from now on nothing may be refused. */
    readonly mended: () => void;
  }

  /**
   * Creates Pods without a pause while something happens: of four, one opts in by each of the three ways, one not at all.
   */
  async function under(fault: (stream: Stream) => Promise<void>): Promise<Counts> {
    const counts: Counts = {
      asked: 0,
      refused: 0,
      uninjected: 0,
      plain: 0,
      plainRefused: 0,
      late: 0,
      words: new Set(),
    };
    let isOver = false;
    let isMended = false;
    const more = (pods: number) => {
      const enough = counts.asked + counts.plain + pods;
      return eventually(() => counts.asked + counts.plain >= enough, 'the stream has dried up');
    };
    const kinds = [
      ['labelled', {}],
      ['annotated', {}],
      ['plain', optIn],
      ['plain', {}],
    ] as const;
    const stream = async (lane: number) => {
      for (let index = 0; !isOver; index++) {
        const [where, annotations] = kinds[(index + lane) % kinds.length] ?? ['plain', {}];
        const asks = where !== 'plain' || annotations === optIn;
        const isLate = isMended;
        const { code, out, err } = await world.kubectl(
          'create -o json -f -',
          JSON.stringify(pod(`p-${lane}-${Date.now().toString(36)}-${index}`, where, {}, annotations)),
        );
        // While the API server itself is away nothing is created and nothing is refused.
        if (
          code !== 0 &&
          /connection refused|connection reset|EOF|ServiceUnavailable|unexpected error|not yet ready|TLS handshake|the server is currently unable|no default service account/i.test(
            err,
          ) &&
          !/signet/.test(err)
        )
          continue;
        if (asks) counts.asked++;
        else counts.plain++;
        if (code !== 0) {
          if (asks) counts.refused++;
          else counts.plainRefused++;
          if (isLate) counts.late++;
          counts.words.add(err.trim());
        } else if (asks && !hasContainer(JSON.parse(out))) counts.uninjected++;
      }
    };
    const lanes = [0, 1].map(stream);
    try {
      const mended = () => {
        isMended = true;
      };
      await fault({ more, mended });
    } finally {
      isOver = true;
      await Promise.all(lanes);
    }
    return counts;
  }

  function holds(t: Test, title: string, counts: Counts, mayRefuse: boolean): void {
    t.comment(
      `${title}: ${counts.asked} asked, ${counts.refused} refused, ${counts.uninjected} uninjected; ${counts.plain} others, ${counts.plainRefused} refused`,
    );
    t.ok(counts.asked > 0 && counts.plain > 0, 'there was a stream');
    t.equal(counts.uninjected, 0, 'no Pod that asked came out without its identity');
    t.equal(counts.plainRefused, 0, `nothing that did not ask was refused: ${[...counts.words].join('; ')}`);
    t.equal(counts.late, 0, 'and nothing at all once it was mended');
    if (!mayRefuse) t.equal(counts.refused, 0, `and nothing that asked: ${[...counts.words].join('; ')}`);
    for (const word of counts.words) t.match(word, /signet/, 'who is refused hears of signet');
  }

  /** A Deployment of each kind reaches its count, without a restart of anything. */
  async function recovers(t: Test, name: string): Promise<void> {
    for (const where of ['labelled', 'annotated', 'plain']) {
      await eventually(
        async () => {
          const pods = await world.pods(where, `app=${name}`);
          return pods.length === 3 && pods.every((one) => hasContainer(one) === (where !== 'plain'));
        },
        `${name} in ${where} does not reach its count`,
        120_000,
      );
    }
    t.pass('every ReplicaSet reaches its count');
    holds(t, 'afterwards', await under(({ more }) => more(16)), false);
  }

  const everywhere = (name: string) =>
    world.apply(...['labelled', 'annotated', 'plain'].map((where) => deployment(name, where, 3)));

  t.test('two replicas behind a balancer', async (t) => {
    await world.install();
    await balancer.listen(world.port);
    await world.apply(namespace('labelled', optIn), namespace('annotated', {}, optIn), namespace('plain'));
    balancer.backends = [ports[0] ?? 0, ports[1] ?? 0];
    await world.serveReady(ports[0], ...short);
    await world.serveReady(ports[1], ...short);
    holds(t, 'nothing wrong', await under(({ more }) => more(32)), false);
  });

  t.test('certificate and authority rotate every few seconds', async (t) => {
    const before = await world.get('secret signet-tls -n signet');
    const counts = await under(async ({ more }) => {
      await eventually(
        async () => {
          const now = await world.get('secret signet-tls -n signet');
          return at(objectAt(now, 'data'), 'ca.crt') !== at(objectAt(before, 'data'), 'ca.crt');
        },
        'the authority does not rotate',
        60_000,
      );
      await more(32);
    });
    holds(t, 'rotation', counts, false);
    const manifests = await world.signet(['install', '--url', `https://127.0.0.1:${world.port}`]);
    t.same(await world.kubectl('diff --server-side -f -', manifests.out), { code: 0, out: '', err: '' });
  });

  t.test('values are broken, and mended', async (t) => {
    const counts = await under(async ({ more }) => {
      writeFileSync(values, 'proxy: {cores: many}\n');
      await eventually(
        () => world.replicas.every(({ log }) => /the values on disk are invalid/.test(log())),
        'nobody notices',
      );
      await more(16);
      writeFileSync(values, 'proxy: {logLevel: debug}\n');
      await eventually(() => world.replicas.every(({ log }) => /the values were read again/.test(log())), 'not mended');
      await more(16);
    });
    holds(t, 'broken values', counts, false);
    const { out } = await world.kubectl(
      'create --dry-run=server -o json -f -',
      JSON.stringify(pod('after', 'labelled', {}, {})),
    );
    t.match(out, /debug,\[\{headers\}\]=off/, 'the mended values hold');
    const events = await world.kubectl('get events -n signet -o json');
    t.match(events.out, /ValuesInvalid/, 'and an Event has told of them');
  });

  t.test('a rolling restart', async (t) => {
    const counts = await under(async () => {
      for (const [index, port] of [ports[2] ?? 0, ports[3] ?? 0].entries()) {
        const fresh = await world.serveReady(port, ...short);
        const old = world.replicas.find(({ child }) => child.exitCode === null && child.pid !== fresh.child.pid);
        // As a Service does it: the new one in, the old one out, and only then does it hear of its end.
        balancer.backends = [...balancer.backends.filter((one) => one !== old?.port), port];
        if (old !== undefined) await ended(old.child);
        t.equal(old?.child.exitCode, 0, `replica ${index} ends by itself`);
      }
    });
    holds(t, 'rolling restart', counts, false);
  });

  t.test('one of two replicas is killed without a word', async (t) => {
    const counts = await under(async ({ more, mended }) => {
      await more(8);
      const [first] = world.replicas.filter(({ child }) => child.exitCode === null && child.signalCode === null);
      if (first !== undefined) await ended(first.child, 'SIGKILL');
      await everywhere('killed');
      await more(24);
      await world.serveReady(first?.port, ...short);
      mended();
      await more(16);
    });
    holds(t, 'kill -9', counts, true);
    await recovers(t, 'killed');
  });

  t.test('caBundle is overwritten by hand', async (t) => {
    const counts = await under(async ({ more, mended }) => {
      const other = await world.get('cm kube-root-ca.crt -n labelled');
      const bundle = Buffer.from(textAt(objectAt(other, 'data'), 'ca.crt') ?? '').toString('base64');
      const patch = [0, 1, 2, 3].map((index) => ({
        op: 'replace',
        path: `/webhooks/${index}/clientConfig/caBundle`,
        value: bundle,
      }));
      await world.plane.kubectl([
        ...['patch', 'mutatingwebhookconfiguration', 'signet', '--type=json', '-p'],
        JSON.stringify(patch),
      ]);
      await everywhere('bundle');
      await eventually(
        async () => !JSON.stringify(await world.get('mutatingwebhookconfiguration signet')).includes(bundle),
        'nobody repairs it',
      );
      // The API server hears of its own change a moment later.
      await more(8);
      mended();
      await more(16);
    });
    holds(t, 'caBundle overwritten', counts, true);
    await recovers(t, 'bundle');
  });

  t.test('the Secret is deleted', async (t) => {
    const counts = await under(async ({ more, mended }) => {
      const before = await world.get('secret signet-tls -n signet');
      await world.kubectl('delete secret signet-tls -n signet');
      await everywhere('secret');
      await eventually(async () => {
        const { out } = await world.kubectl('get secret signet-tls -n signet -o json --ignore-not-found');
        const uid = out === '' ? undefined : at(objectAt(JSON.parse(out), 'metadata'), 'uid');
        return uid !== undefined && uid !== at(objectAt(before, 'metadata'), 'uid');
      }, 'it does not come back');
      await more(16);
      mended();
      await more(16);
    });
    holds(t, 'Secret deleted', counts, true);
    await recovers(t, 'secret');
  });

  t.test('the API server is restarted', async (t) => {
    const counts = await under(async ({ more, mended }) => {
      await world.plane.restartApiServer(true);
      await everywhere('restart');
      await more(24);
      mended();
      await more(16);
    });
    holds(t, 'API server restarted', counts, true);
    await recovers(t, 'restart');
  });

  t.test(
    'signet is away: what asked is refused with its name, everything else is created; it comes back',
    async (t) => {
      await Promise.all(world.replicas.map(({ child }) => ended(child, 'SIGKILL')));
      const says: readonly (readonly [string, JsonObject, JsonObject, RegExp | undefined])[] = [
        ['labelled', {}, {}, /failed calling webhook "namespace\.signet\.dev"/],
        ['plain', {}, optIn, /failed calling webhook "pod\.signet\.dev"/],
        ['plain', optIn, {}, /failed calling webhook "pod\.signet\.dev"/],
        [
          'annotated',
          {},
          {},
          /signet: this Pod asks for injection and was not injected; is the signet webhook running\?/,
        ],
        ['plain', {}, {}, undefined],
        ['labelled', {}, { 'linkerd.io/inject': 'disabled' }, undefined],
        ['annotated', { 'linkerd.io/inject': 'disabled' }, {}, undefined],
      ];
      for (const [index, [where, labels, annotations, refusal]] of says.entries()) {
        const { code, err } = await world.kubectl(
          'create -f -',
          JSON.stringify(pod(`away-${index}`, where, labels, annotations)),
        );
        if (refusal === undefined) t.equal(code, 0, `${where} is created: ${err}`);
        else t.match(err, refusal, `${where} is refused`);
      }
      const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'svc', namespace: 'labelled' } };
      await world.apply({ ...service, spec: { ports: [{ port: 80 }] } });
      await everywhere('away');
      await eventually(
        async () => (await world.pods('plain', 'app=away')).length === 3,
        'who did not ask is not served',
      );
      t.equal((await world.pods('labelled', 'app=away')).length, 0, 'none slips through by label');
      t.equal((await world.pods('annotated', 'app=away')).length, 0, 'none by annotation');
      balancer.backends = [ports[0] ?? 0];
      await world.serveReady(ports[0], ...short);
      await recovers(t, 'away');
    },
  );
}
