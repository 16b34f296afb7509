import type { Api } from '../cluster/api.js';
import { ApiError } from '../cluster/api.js';
import { namespaceOf } from '../cluster/namespaces.js';
import { auditPod, findings } from '../inject/audit.js';
import { bareNamespace, type Namespace } from '../inject/decide/opt-in.js';
import { inject, type Verdict } from '../inject/inject.js';
import type { Mesh } from '../inject/mesh.js';
import { origins } from '../inject/origin.js';
import { uninject, uninjected } from '../inject/uninject.js';
import { type Calling, callings } from '../install/called.js';
import { fromValues } from '../install/from-values.js';
import { objects } from '../install/options.js';
import { type JsonObject, objectAt, textAt } from '../json.js';
import { painter } from '../report/colour.js';
import { type Explanation, explanationOf, explanationText } from '../report/explain.js';
import { missed } from '../report/summary.js';
import { rootsIn } from './audit.js';
import { apiFrom, homeOf, meshOfCluster } from './cluster.js';
import { Failure } from './failure.js';
import type { Given } from './flags.js';
import { type ClusterName, readClusterName } from './object-name.js';
import type { Terminal } from './terminal.js';
import { meshFrom } from './values-input.js';

/** What only a cluster can tell beside the explanation. */
interface Seen {
  /** What a Pod that runs has, compared with what it would get now; nothing for a template. */
  readonly state: string | null;
  readonly calledBy: readonly string[];
  readonly notCalledBy: readonly { readonly entry: string; readonly why: string }[];
  readonly note: string;
}

/** Explains objects of a cluster: what would happen to them now, what did, and whether the API server asks us at all. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const api = apiFrom(given);
  const mesh = await meshOrDefaults(given, api, terminal);
  const isJson = given.last('output') === 'json';
  const paint = painter(terminal.isColoured);
  const told: (Explanation & { readonly apiServer: Seen })[] = [];
  let missing = 0;
  for (const word of given.files) {
    const name = readClusterName(word);
    if (name === undefined)
      throw new Failure(`${JSON.stringify(word)} is no KIND/NAME; files and objects of a cluster are explained apart`);
    const where = given.last('namespace') ?? api.namespace;
    const object = await read(api, name, where);
    const namespace = await readNamespace(api, where);
    const bare = withoutInjection(object);
    const verdict = inject(mesh, { object: bare, namespace, origin: origins.webhook });
    const apiServer = await seen(api, mesh, object, verdict, namespace);
    const one = explanationOf(mesh, verdict, { file: 'cluster', line: 0, namespace });
    if (missed(verdict, origins.webhook)) missing++;
    if (isJson) told.push({ ...one, apiServer });
    else terminal.out(explanationText(one, paint, apiServer.state ?? undefined) + seenText(apiServer));
  }
  if (isJson) terminal.out(`${JSON.stringify(told, undefined, 2)}\n`);
  return given.has('require') && missing > 0 ? 1 : 0;
}

/** Where signet is not installed there are no values of it; what its defaults would do is an answer too. */
async function meshOrDefaults(given: Given, api: Api, terminal: Terminal): Promise<Mesh> {
  const path = `/api/v1/namespaces/${homeOf(given)}/configmaps/${objects.values}`;
  const isInstalled = await api.get(path).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return false;
      throw new Failure(`cannot read from the API server: ${error instanceof Error ? error.message : error}`);
    },
  );
  if (isInstalled || given.has('values')) return meshOfCluster(given, api, terminal);
  terminal.err(`note: signet is not installed in namespace ${homeOf(given)}; its defaults are used\n`);
  return meshFrom(given, terminal);
}

async function read(api: Api, { kind, apiVersion, path, name }: ClusterName, namespace: string): Promise<JsonObject> {
  try {
    return { apiVersion, kind, ...(await api.get(path(namespace))) };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404)
      throw new Failure(`there is no ${kind.toLowerCase()}/${name} in namespace ${namespace}; -n names another`);
    throw new Failure(`cannot read ${kind.toLowerCase()}/${name}: ${error instanceof Error ? error.message : error}`);
  }
}

async function readNamespace(api: Api, name: string): Promise<Namespace> {
  return namespaceOf(await api.get(`/api/v1/namespaces/${name}`)) ?? bareNamespace(name);
}

function withoutInjection(object: JsonObject): JsonObject {
  const found = uninject(object, [], { thorough: true });
  return found.removals.length === 0 ? object : uninjected(object, found);
}

async function seen(api: Api, mesh: Mesh, object: JsonObject, verdict: Verdict, namespace: Namespace): Promise<Seen> {
  const isPod = object.kind === 'Pod';
  const state = isPod ? await stateOf(api, mesh, object, verdict, namespace) : null;
  const { subject } = verdict;
  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${objects.webhook}`;
  let configuration: JsonObject;
  try {
    configuration = await api.get(path);
  } catch (error) {
    const isMissing = error instanceof ApiError && error.status === 404;
    const note = isMissing
      ? `there is no webhook configuration ${objects.webhook}`
      : `the webhook configuration cannot be read: ${error instanceof Error ? error.message : error}`;
    return { state, calledBy: [], notCalledBy: [], note };
  }
  if (subject.is !== 'workload') return { state, calledBy: [], notCalledBy: [], note: '' };
  const { metadata, spec } = subject.workload;
  const all = callings(configuration, namespace.labels, { metadata, spec }, fromValues(mesh.values));
  return {
    state,
    calledBy: all.filter(({ whyNot }) => whyNot === undefined).map(({ entry }) => entry),
    notCalledBy: all.flatMap(({ entry, whyNot }: Calling) => (whyNot === undefined ? [] : [{ entry, why: whyNot }])),
    note: isPod ? olderThan(object, configuration) : '',
  };
}

/** What a Pod that runs has, beside what it would get now. */
async function stateOf(
  api: Api,
  mesh: Mesh,
  pod: JsonObject,
  { outcome }: Verdict,
  namespace: Namespace,
): Promise<string> {
  const changed = await rootsIn(api, mesh).catch(() => new Map<string, string>());
  const finding = auditPod(mesh, pod, namespace, { rootsChanged: changed.get(namespace.name) ?? '' });
  if (finding !== undefined) return `${findings[finding.finding]}: ${finding.detail}`;
  if (outcome === 'inject') return 'as it would be if it were created now';
  return uninject(pod, [], { thorough: true }).removals.length > 0
    ? 'with an identity that it would not be given now'
    : 'without an identity, as it would if it were created now';
}

function olderThan(pod: JsonObject, configuration: JsonObject): string {
  const [born, registered] = [pod, configuration].map(
    (one) => textAt(objectAt(one, 'metadata'), 'creationTimestamp') ?? '',
  );
  return born !== undefined && registered !== undefined && born < registered
    ? `the Pod was created at ${born}, before the webhook was registered at ${registered}`
    : '';
}

function seenText({ calledBy, notCalledBy, note }: Seen): string {
  const lines: string[] = [];
  if (calledBy.length > 0) lines.push(`  webhook   the API server asks signet about it now, by ${calledBy.join(', ')}`);
  else if (notCalledBy.length > 0) {
    const isSure = notCalledBy.every(({ why }) => !why.startsWith('unknown'));
    lines.push(
      `  webhook   ${isSure ? 'the API server never asks signet about it' : 'whether the API server asks signet cannot be told'}`,
    );
    lines.push(...notCalledBy.map(({ entry, why }) => `            ${entry}: ${why}`));
  }
  if (note !== '') lines.push(`  note      ${note}`);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}
