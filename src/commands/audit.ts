import { namespaceOf } from '../cluster/namespaces.js';
import { auditPod, isOver, ownerText, podOf, renewal } from '../inject/audit.js';
import { bareNamespace, type Namespace } from '../inject/decide/opt-in.js';
import type { Mesh } from '../inject/mesh.js';
import { isArray, isObject, type Json, type JsonObject, textAt } from '../json.js';
import { ItemSplitter } from '../manifest/items.js';
import { AuditReport, type AuditRow } from '../report/audit.js';
import { painter } from '../report/colour.js';
import { apiFrom, meshOfCluster } from './cluster.js';
import { Failure } from './failure.js';
import type { Given } from './flags.js';
import { type Input, openInputs, textOf } from './input.js';
import type { Terminal } from './terminal.js';
import { meshFrom } from './values-input.js';

/** Where Pods and namespaces come from, one by one. */
interface Population {
  readonly mesh: Mesh;
  readonly namespaces: () => AsyncIterable<JsonObject>;
  readonly pods: () => AsyncIterable<JsonObject>;
  readonly close: () => void;
}

/** Lists running Pods that ought to carry an identity and do not, or carry a stale one. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const format = given.last('output') ?? 'text';
  if (format !== 'text' && format !== 'json')
    throw new Failure(`--output takes json here; found ${JSON.stringify(format)}`);
  const population = given.files.length > 0 ? await offline(given, terminal) : await online(given, terminal);
  const report = new AuditReport();
  let isFirst = true;
  try {
    if (format === 'json') terminal.out('[');
    const looked = await audit(population, (row) => {
      report.add(row);
      if (format === 'json') terminal.out(`${isFirst ? '\n' : ',\n'}${JSON.stringify(row)}`);
      isFirst = false;
    });
    terminal.out(format === 'json' ? '\n]\n' : report.text(looked, painter(terminal.isColoured)));
  } finally {
    population.close();
  }
  return report.found > 0 ? 1 : 0;
}

/** Looks at every Pod that has not ended, and tells what was found; gives how many there were. */
export async function audit(
  { mesh, namespaces, pods }: Omit<Population, 'close'>,
  tell: (row: AuditRow) => void,
): Promise<number> {
  const known = new Map<string, Namespace>();
  for await (const object of namespaces()) {
    const namespace = namespaceOf(object);
    if (namespace !== undefined) known.set(namespace.name, namespace);
  }
  let looked = 0;
  for await (const object of pods()) {
    const pod = podOf(object);
    if (pod === undefined || isOver(object)) continue;
    looked++;
    const namespace = pod.namespace ?? 'default';
    const finding = auditPod(mesh, pod.object, known.get(namespace) ?? bareNamespace(namespace));
    if (finding === undefined) continue;
    const row = { namespace, pod: pod.name, owner: ownerText(pod), command: renewal(pod, namespace) };
    tell({ ...row, ...finding });
  }
  return looked;
}

async function online(given: Given, terminal: Terminal): Promise<Population> {
  const api = apiFrom(given);
  const mesh = await meshOfCluster(given, api, terminal);
  const namespace = given.last('namespace');
  const path = namespace === undefined ? '/api/v1/pods' : `/api/v1/namespaces/${namespace}/pods`;
  return {
    mesh,
    namespaces: () => api.items('/api/v1/namespaces'),
    pods: () => api.items(path),
    close: () => {},
  };
}

/** `kubectl get pods,namespaces -A -o json`: Pods come first there, so it is read twice. */
async function offline(given: Given, terminal: Terminal): Promise<Population> {
  const mesh = meshFrom(given, terminal);
  const inputs = await openInputs(given.files);
  const only = given.last('namespace');
  const isThere = (object: JsonObject) =>
    only === undefined || (isObject(object.metadata) && object.metadata.namespace === only);
  const close = () => {
    for (const input of inputs) input.close();
  };
  async function* ofKind(kind: string): AsyncGenerator<JsonObject> {
    for (const input of inputs)
      for (const object of objectsIn(input)) if (textAt(object, 'kind') === kind) yield object;
  }
  async function* pods(): AsyncGenerator<JsonObject> {
    for await (const pod of ofKind('Pod')) if (isThere(pod)) yield pod;
  }
  return { mesh, namespaces: () => ofKind('Namespace'), pods, close };
}

function* objectsIn(input: Input): Generator<JsonObject> {
  const splitter = new ItemSplitter();
  let any = false;
  try {
    for (const piece of textOf(input))
      for (const text of splitter.push(piece)) {
        any = true;
        const json: Json = JSON.parse(text);
        if (isObject(json)) yield json;
        else if (isArray(json)) yield* json.filter(isObject);
      }
    splitter.end();
  } catch (error) {
    const isNoJson = error instanceof SyntaxError || (error instanceof Error && error.name === 'ItemError');
    if (!isNoJson) throw error;
    throw new Failure(
      `${input.name}: expected what \`kubectl get pods,namespaces -A -o json\` prints: ${error.message}`,
    );
  }
  if (!any)
    throw new Failure(
      `${input.name}: expected what \`kubectl get pods,namespaces -A -o json\` prints; found nothing like it`,
    );
}
