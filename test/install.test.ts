import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { manifestFiles } from '../scripts/manifests.js';
import { admit } from '../src/admission/admit.js';
import { holds } from '../src/inject/decide/conditions.js';
import { meshOf } from '../src/inject/mesh.js';
import { components } from '../src/install/components.js';
import { type Entry, entries } from '../src/install/entries.js';
import { install } from '../src/install/install.js';
import { labels, objects, selector } from '../src/install/options.js';
import { conditionOf, webhookConfiguration } from '../src/install/registration.js';
import { at, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../src/json.js';
import { load } from '../src/values/load.js';
import { defaultsForInstall, documentsIn, pick, signet, structuralFaults } from './support.js';

const options = {
  namespace: 'signet',
  image: 'registry.example/signet:1',
  replicas: 2,
  values: '{}\n',
  url: '',
  ...defaultsForInstall,
  excludedNamespaces: ['kube-system'],
};
const key = 'linkerd.io/inject';
const words = [undefined, '', 'enabled', 'ingress', 'disabled', 'nonsense'];

const identityKey = 'signet.dev/inject';
/** Where a Pod can say something of identity alone. */
const identities: readonly { readonly labels?: JsonObject; readonly annotations?: JsonObject }[] = [
  {},
  { labels: { [identityKey]: 'identity' } },
  { annotations: { [identityKey]: 'identity' } },
  { annotations: { [identityKey]: 'nonsense' } },
  { labels: { [identityKey]: 'nonsense' }, annotations: { [identityKey]: 'identity' } },
];

function metadata(
  label: string | undefined,
  annotation: string | undefined,
  own: (typeof identities)[number],
): JsonObject {
  return {
    labels: { ...(label === undefined ? {} : { [key]: label }), ...own.labels },
    annotations: { ...(annotation === undefined ? {} : { [key]: annotation }), ...own.annotations },
  };
}

/** Evaluates a label selector as Kubernetes does. */
function selects(expressions: readonly Json[], map: JsonObject): boolean {
  return expressions.every((one) => {
    const value = at(map, textAt(one, 'key') ?? '');
    const values = listAt(one, 'values');
    switch (textAt(one, 'operator')) {
      case 'In':
        return value !== undefined && values.includes(value);
      case 'NotIn':
        return value === undefined || !values.includes(value);
      case 'DoesNotExist':
        return value === undefined;
      default:
        throw new Error('unknown operator');
    }
  });
}

t.test('every combination of opt-in reaches the handler by the right entries, and the handler agrees', async (t) => {
  const configuration = webhookConfiguration(options);
  const result = load([]);
  if ('mistakes' in result) throw new Error('defaults');
  const mesh = meshOf(result.loaded, 'signet', () => '');
  const spec = { containers: [{ name: 'app', image: 'a' }] };
  const meshed = {
    volumes: [{ name: 'linkerd-identity-token', emptyDir: {} }],
    containers: [
      { name: 'app', image: 'a' },
      { name: 'linkerd-proxy', image: 'cr.l5d.io/linkerd/proxy:1' },
    ],
  };
  let combinations = 0;
  for (const nsLabel of words)
    for (const nsAnnotation of words)
      for (const podLabel of words)
        for (const podAnnotation of words)
          for (const [hasProxy, own] of identities.flatMap((one) => [[false, one] as const, [true, one] as const])) {
            combinations++;
            const pod: JsonObject = {
              kind: 'Pod',
              metadata: metadata(podLabel, podAnnotation, own),
              spec: hasProxy ? meshed : spec,
            };
            const namespace = {
              name: 'shop',
              labels: nsLabel === undefined ? {} : { [key]: nsLabel },
              annotations: nsAnnotation === undefined ? {} : { [key]: nsAnnotation },
            };
            const called = entries.filter(
              ({ resource, name }) => resource === 'pods' && reaches(configuration, name, namespace.labels, pod),
            );
            const review = {
              uid: 'u',
              operation: 'CREATE',
              kind: 'Pod',
              resource: 'pods',
              subresource: '',
              namespace: 'shop',
              dryRun: false,
              object: pod,
            };
            const asked = admit(mesh, review, namespace, { namespaceAsked: false }).about.askedBy;
            const where = JSON.stringify({
              nsLabel,
              nsAnnotation,
              podLabel,
              podAnnotation,
              own,
              hasProxy,
              called: called.map(({ name }) => name),
              asked,
            });
            const failing = called.filter(({ failurePolicy }) => failurePolicy === 'Fail');
            if (failing.length > 1) t.fail(`more than one entry that fails: ${where}`);
            if (called.some(({ name }) => name === 'rest') && called.some(({ name }) => name === 'pod') && hasProxy)
              t.fail(`rest beside pod though there is a proxy: ${where}`);
            if (asked !== undefined && called.length === 0 && !hasProxy) t.fail(`asks and is never sent: ${where}`);
            // What the API server holds back when we are away must have asked: by a label it can see, or by the Pod itself.
            if (failing.length > 0 && asked === undefined && !isHalfAsked(namespace.labels, pod))
              t.fail(`could be blocked without asking: ${where}`);
            if (asked === 'workload' && failing.length === 0) t.fail(`asks by itself and could slip through: ${where}`);
          }
  t.equal(combinations, 6 ** 4 * 2 * 5);
});

/** Says yes where the API server looks, and something else that cannot be understood where it does not. */
function isHalfAsked(namespaceLabels: JsonObject, pod: JsonObject): boolean {
  const asks = (value: Json | undefined) => value === 'enabled' || value === 'ingress';
  const of = (map: string, name: string) => at(objectAt(objectAt(pod, 'metadata'), map), name);
  const isAlone = [of('labels', identityKey), of('annotations', identityKey)].includes('identity');
  return asks(at(namespaceLabels, key)) || asks(of('labels', key)) || asks(of('annotations', key)) || isAlone;
}

function reaches(
  configuration: JsonObject,
  name: Entry['name'],
  namespaceLabels: JsonObject,
  pod: JsonObject,
): boolean {
  const entry = listAt(configuration, 'webhooks').find((one) => textAt(one, 'name') === `${name}.signet.dev`);
  const condition = conditionOf(name, options);
  const inNamespace = selects(listAt(objectAt(entry, 'namespaceSelector'), 'matchExpressions'), {
    'kubernetes.io/metadata.name': 'shop',
    ...namespaceLabels,
  });
  const onObject = selects(
    listAt(objectAt(entry, 'objectSelector'), 'matchExpressions'),
    objectAt(objectAt(pod, 'metadata'), 'labels'),
  );
  return inNamespace && onObject && (condition === undefined || holds(condition, pod));
}

t.test('conditions guard every key before they read it', async (t) => {
  for (const webhook of listAt(webhookConfiguration(options), 'webhooks')) {
    for (const condition of listAt(webhook, 'matchConditions')) {
      const expression = textAt(condition, 'expression') ?? '';
      for (const [, path = ''] of expression.matchAll(/(object\.metadata\.\w+)\[/g))
        t.ok(expression.includes(`has(${path})`), path);
      t.notMatch(expression, /namespaceObject/, 'which would fail every request');
    }
  }
});

t.test('manifests are the same from run to run, have no caBundle, and agree with each other', async (t) => {
  const all = Object.keys(components);
  const made = install(
    options,
    all.filter((name) => name !== 'cert-manager'),
  );
  t.same(
    made,
    install(
      options,
      all.filter((name) => name !== 'cert-manager'),
    ),
  );
  const text = JSON.stringify(made);
  t.notMatch(text, /caBundle/);
  const one = (kind: string) => made.find((object) => object.kind === kind) ?? {};
  const deployment = one('Deployment');
  t.same(structuralFaults(pick(deployment, '/spec/template')), []);
  t.same(pick(deployment, '/spec/selector/matchLabels'), selector);
  t.match(pick(deployment, '/spec/template/metadata/labels'), selector);
  t.same(pick(one('Service'), '/spec/selector'), selector);
  t.equal(
    pick(one('Service'), '/spec/ports/0/targetPort'),
    pick(deployment, '/spec/template/spec/containers/0/ports/0/name'),
  );
  t.same(pick(one('PodDisruptionBudget'), '/spec/selector/matchLabels'), selector);
  t.equal(
    pick(one('MutatingWebhookConfiguration'), '/webhooks/0/clientConfig/service/name'),
    pick(one('Service'), '/metadata/name'),
  );
  t.equal(pick(deployment, '/spec/template/spec/serviceAccountName'), pick(one('ServiceAccount'), '/metadata/name'));
  for (const binding of made.filter(
    ({ kind }) => /Binding$/.test(String(kind)) && kind !== 'ValidatingAdmissionPolicyBinding',
  )) {
    t.ok(
      made.some(
        (role) =>
          role.kind === pick(binding, '/roleRef/kind') &&
          pick(role, '/metadata/name') === pick(binding, '/roleRef/name'),
      ),
      'a binding has its role',
    );
  }
  t.equal(
    pick(one('ValidatingAdmissionPolicyBinding'), '/spec/policyName'),
    pick(one('ValidatingAdmissionPolicy'), '/metadata/name'),
  );
  for (const object of made) t.match(pick(object, '/metadata/labels'), labels, `${object.kind} is labelled`);
  const container = pick(deployment, '/spec/template/spec/containers/0/securityContext');
  t.same(container, { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true });
  t.equal(made.at(-1)?.kind, 'ValidatingAdmissionPolicyBinding', 'whoever could block something comes last');
});

t.test('components change what they say', async (t) => {
  const args = (chosen: readonly string[]) =>
    pick(
      install(options, chosen).find(({ kind }) => kind === 'Deployment'),
      '/spec/template/spec/containers/0/args',
    );
  t.ok(JSON.stringify(args(['self-signed'])).includes('--self-signed'));
  t.notOk(JSON.stringify(args(['cert-manager'])).includes('--self-signed'));
  t.ok(JSON.stringify(args(['cert-manager'])).includes('--tls-cert'));
  const webhook = install(options, ['cert-manager']).find(({ kind }) => kind === 'MutatingWebhookConfiguration');
  t.equal(pick(webhook, '/metadata/annotations/cert-manager.io~1inject-ca-from'), `signet/${objects.secret}`);
  t.match(
    JSON.stringify(args(['linkerd'])),
    /^\["serve","--values","\/var\/run\/linkerd\/config\/values","--set-file".*"--values","\/etc\/signet\/values\.yaml"\]$/,
    "Linkerd's values come first, ours are laid over them",
  );
});

t.test('signet install prints it, and signet uninstall what to delete, the registration first', async (t) => {
  const first = await signet(['install']);
  t.equal(first.code, 0);
  t.equal(first.out, (await signet(['install'])).out, 'byte for byte');
  t.same(
    documentsIn(first.out)
      .map((one) => (isObject(one) ? one.kind : undefined))
      .slice(0, 2),
    ['Namespace', 'ServiceAccount'],
  );
  const outside = await signet(['install', '--url', 'https://127.0.0.1:8443/']);
  t.match(outside.out, 'url: https://127.0.0.1:8443/mutate/namespace');
  t.notMatch(outside.out, /kind: Deployment/);
  t.match((await signet(['install', '--namespace', 'mesh', '--image', 'x:1', '--replicas', '3'])).out, /replicas: 3/);
  t.match((await signet(['install', '-o', 'json'])).out, /"kind": "List"/);
  for (const [args, message] of [
    [['--replicas', 'x'], '--replicas takes a whole number'],
    [['--url', 'http://x'], '--url takes an https:// address'],
    [['--with', 'gard'], 'did you mean guard?'],
    [['--with', 'cert-manager'], 'add --without self-signed'],
    [['--url', 'https://x:1/inject'], '--url takes host and port alone'],
    [['--url', 'https://x:1?y=2'], '--url takes host and port alone'],
    [['--namespace', 'kube-system'], 'not into one of Kubernetes'],
    [['--namespace', 'Foo'], '--namespace takes the name of a namespace'],
    [['--namespace', 'linkerd'], 'add --without namespace, or --with linkerd'],
    [['--with', 'linkerd'], 'add --namespace linkerd'],
    [['--image', ''], '--image takes the name of an image'],
  ] as const) {
    const ran = await signet(['install', ...args]);
    t.equal(ran.code, 2);
    t.match(ran.err, message);
  }
  const gone = (await signet(['uninstall'])).out.trim().split('\n');
  t.match(gone[0], /validatingadmissionpolicybinding/);
  t.ok(
    gone.findIndex((line) => line.includes('mutatingwebhookconfiguration')) <
      gone.findIndex((line) => line.includes('deployment')),
  );
  t.match(gone.at(-1), /namespace signet$/);
  t.match(gone.at(-2), /secret signet-tls -n signet$/, 'what it made by itself goes as well');
  t.ok(
    gone.some((line) => /clusterspiffeid\.spire\.spiffe\.io -l \S+=signet/.test(line)),
    'every profile of SPIRE',
  );
  t.notMatch((await signet(['uninstall', '--namespace', 'linkerd'])).out, /delete --ignore-not-found namespace/);
});

t.test('manifests/ holds what the program prints', async (t) => {
  const files = manifestFiles();
  for (const [path, text] of files)
    t.equal(
      existsSync(path) ? readFileSync(path, 'utf8') : 'missing',
      text,
      `${path}; npm run docs brings it up to date`,
    );
  const there = readdirSync('manifests', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`);
  t.same(there.sort(), [...files.keys()].sort(), 'and nothing else');
  // As kustomize would put it together: base, then the objects of each component, patched.
  const parsed = (prefix: string) =>
    [...files]
      .filter(([path]) => path.startsWith(prefix) && !path.endsWith('kustomization.yaml'))
      .flatMap(([, text]) => documentsIn(text));
  const printed = documentsIn((await signet(['install'])).out).filter(isObject);
  const inTree = [
    'manifests/base/',
    ...Object.keys(components)
      .filter((name) => components[name]?.isDefault)
      .map((name) => `manifests/components/${name}/`),
  ]
    .flatMap(parsed)
    .filter(isObject);
  const name = (object: JsonObject) => `${object.kind}/${pick(object, '/metadata/name')}`;
  t.same(inTree.map(name).sort(), printed.map(name).sort());
});

t.test('the image holds what it copies, runs as nobody, and starts', async (t) => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  for (const [, sources = ''] of dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm))
    for (const source of sources.split(' ')) t.ok(existsSync(source), source);
  t.match(dockerfile, /^USER 65532:65532$/m);
  const [, entry = ''] = /^ENTRYPOINT \["[^"]+", (?:"--[^"]+", )*"\/app\/([^"]+)"\]$/m.exec(dockerfile) ?? [];
  const [, command = ''] = /^CMD \[(.*)\]$/m.exec(dockerfile) ?? [];
  const ran = spawnSync(process.execPath, [`dist/${entry}`, ...JSON.parse(`[${command}]`), '--help'], {
    encoding: 'utf8',
  });
  t.equal(ran.status, 0, ran.stderr);
  t.match(ran.stdout, /^signet serve/);
});
