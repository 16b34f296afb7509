import { type Api, ApiError } from '../cluster/api.js';
import { namespaceOf } from '../cluster/namespaces.js';
import { auditPod, isOver, ownerText, podOf, renewal } from '../inject/audit.js';
import { bareNamespace, type Namespace } from '../inject/decide/opt-in.js';
import type { Mesh } from '../inject/mesh.js';
import { isArray, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.js';
import { ItemSplitter } from '../manifest/items.js';
import { AuditReport, type AuditRow } from '../report/audit.js';
import { painter } from '../report/colour.js';
import { apiFrom, meshOfCluster } from './cluster.js';
import { Failure } from './failure.js';
import type { Given } from './flags.js';
import { type Input, openInputs, textOf } from './input.js';
import { Output } from './output.js';
import type { Terminal } from './terminal.js';
import { meshFrom } from './values-input.js';

/** Where Pods and namespaces come from, one by one. */
interface Population {
  readonly mesh: Mesh;
  readonly namespaces: () => AsyncIterable<JsonObject>;
  readonly pods: () => AsyncIterable<JsonObject>;
  /** By namespace, when its trust roots were last changed. */
  readonly rootsChanged: () => Promise<ReadonlyMap<string, string>>;
  /** Whether no Pod is an answer too: of a cluster it is, of a file without one it is more likely the wrong file. */
  readonly isList: boolean;
  readonly close: () => void;
}

/** Lists running Pods that ought to carry an identity and do not, or carry a stale one. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const format = given.last('output') ?? 'text';
  if (format !== 'text' && format !== 'json')
    throw new Failure(`--output takes json here; found ${JSON.stringify(format)}`);
  const population = given.files.length > 0 ? await offline(given, terminal) : await online(given, terminal);
  const report = new AuditReport();
  // Nothing is printed before everything was read: half a list would look like a whole one.
  const output = new Output(undefined);
  let isFirst = true;
  try {
    const { looked, unknown } = await audit(population, (row) => {
      report.add(row);
      if (format === 'json') output.add(`${isFirst ? '' : ',\n'}${JSON.stringify(row)}`, false);
      isFirst = false;
    });
    if (looked === 0 && !population.isList) throw new Failure(nothingText(given));
    if (unknown.size > 0) terminal.err(`${unknownText([...unknown])}\n`);
    if (format === 'json') {
      terminal.out('[\n');
      output.flush(terminal);
      terminal.out('\n]\n');
    } else terminal.out(report.text(looked, painter(terminal.isColoured)));
  } finally {
    output.close();
    population.close();
  }
  return report.found > 0 ? 1 : 0;
}

/** Looks at every Pod that has not ended, and tells what was found; gives how many there were, and where nothing is known of the namespace. */
export async function audit(
  { mesh, namespaces, pods, rootsChanged }: Omit<Population, 'close' | 'isList'>,
  tell: (row: AuditRow) => void,
): Promise<{ readonly looked: number; readonly unknown: ReadonlySet<string> }> {
  const known = new Map<string, Namespace>();
  for await (const object of namespaces()) {
    const namespace = namespaceOf(object);
    if (namespace !== undefined) known.set(namespace.name, namespace);
  }
  const changed = await rootsChanged();
  const unknown = new Set<string>();
  let looked = 0;
  for await (const object of pods()) {
    const pod = podOf(object);
    if (pod === undefined || isOver(object)) continue;
    looked++;
    const namespace = pod.namespace ?? 'default';
    if (!known.has(namespace)) unknown.add(namespace);
    const context = { rootsChanged: changed.get(namespace) ?? '' };
    const found = auditPod(mesh, pod.object, known.get(namespace) ?? bareNamespace(namespace), context);
    if (found === undefined) continue;
    const command = renewal(pod, namespace, found.finding);
    tell({ namespace, pod: pod.name, owner: ownerText(pod), command, ...found });
  }
  return { looked, unknown };
}

async function online(given: Given, terminal: Terminal): Promise<Population> {
  const api = apiFrom(given);
  const mesh = await meshOfCluster(given, api, terminal);
  const namespace = given.last('namespace');
  if (namespace !== undefined)
    await api.get(`/api/v1/namespaces/${namespace}`).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) throw new Failure(`there is no namespace ${namespace}`);
      throw error;
    });
  const path = namespace === undefined ? '/api/v1/pods' : `/api/v1/namespaces/${namespace}/pods`;
  return {
    mesh,
    namespaces: () => api.items('/api/v1/namespaces'),
    pods: () => api.items(path),
    rootsChanged: () => rootsIn(api, mesh),
    isList: true,
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
    for (const input of inputs) for (const object of objectsIn(input)) if (kindOf(object) === kind) yield object;
  }
  async function* pods(): AsyncGenerator<JsonObject> {
    for await (const pod of ofKind('Pod')) if (isThere(pod)) yield pod;
  }
  const rootsChanged = async () => {
    const { configMap } = mesh.values.signet.trustRoots;
    const times = new Map<string, string>();
    for await (const object of ofKind('ConfigMap')) if (nameOf(object) === configMap.name) noteChange(times, object);
    return times;
  };
  return { mesh, namespaces: () => ofKind('Namespace'), pods, rootsChanged, isList: false, close };
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
  if (!any && !splitter.sawList)
    throw new Failure(
      `${input.name}: expected what \`kubectl get pods,namespaces -A -o json\` prints; found nothing like it`,
    );
}

function nothingText(given: Given): string {
  const where = given.last('namespace');
  return where === undefined
    ? `there is no Pod in ${given.files.join(', ')} that has not ended; expected what \`kubectl get pods,namespaces -A -o json\` prints`
    : `there is no Pod of namespace ${where} in ${given.files.join(', ')} that has not ended`;
}

/** When the trust roots of each namespace were last changed, as far as we may look. */
export async function rootsIn(api: Api, { values }: Mesh): Promise<ReadonlyMap<string, string>> {
  const { source, configMap } = values.signet.trustRoots;
  const times = new Map<string, string>();
  if (source !== 'configMap') return times;
  try {
    const query = { fieldSelector: `metadata.name=${configMap.name}` };
    for await (const object of api.items('/api/v1/configmaps', query)) noteChange(times, object);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 403)) throw error;
  }
  return times;
}

/** Kubernetes notes of every manager of an object when it last wrote. */
function noteChange(times: Map<string, string>, object: JsonObject): void {
  const metadata = objectAt(object, 'metadata');
  const written = listAt(metadata, 'managedFields').map((one) => textAt(one, 'time') ?? '');
  const last = [textAt(metadata, 'creationTimestamp') ?? '', ...written].sort().at(-1) ?? '';
  times.set(textAt(metadata, 'namespace') ?? '', last);
}

/** What an object is; the items of a PodList or NamespaceList do not say so. */
function kindOf(object: JsonObject): string {
  const said = textAt(object, 'kind');
  if (said !== undefined) return said;
  const spec = objectAt(object, 'spec');
  if ('containers' in spec) return 'Pod';
  return 'finalizers' in spec ? 'Namespace' : '';
}

function nameOf(object: JsonObject): string {
  return textAt(objectAt(object, 'metadata'), 'name') ?? '';
}

function unknownText(namespaces: readonly string[]): string {
  const shown = namespaces.slice(0, 5).join(', ');
  const more = namespaces.length > 5 ? `, and ${namespaces.length - 5} more` : '';
  return `warning: of the namespaces ${shown}${more} nothing is known, so what they say of injection counts for nothing; get them with the Pods: kubectl get pods,namespaces -A -o json`;
}
