import { components } from '../install/components.js';
import { fromValues } from '../install/from-values.js';
import { install, uninstall } from '../install/install.js';
import { type InstallOptions, labels, objects as names } from '../install/options.js';
import type { JsonObject } from '../json.js';
import { writeJson, writeYaml } from '../manifest/whole.js';
import type { Values } from '../values/keys.js';
import { nearest } from '../values/nearest.js';
import { Failure } from './failure.js';
import type { Given } from './flags.js';
import { formatFrom } from './output.js';
import type { Terminal } from './terminal.js';
import { readText, valuesFrom } from './values-input.js';
import { version } from './version.js';

/** Prints the manifests that install signet. */
export async function run(given: Given, terminal: Terminal): Promise<number> {
  const { values } = valuesFrom(given, terminal);
  const options = optionsFrom(given, values);
  const wanted = chosen(given);
  const { controlPlaneNamespace } = values.signet;
  if (wanted.includes('linkerd') && options.namespace !== controlPlaneNamespace)
    throw new Failure(
      `--with linkerd takes values and trust roots that are in namespace ${controlPlaneNamespace}: add --namespace ${controlPlaneNamespace}`,
    );
  if (wanted.includes('namespace') && options.namespace === controlPlaneNamespace)
    throw new Failure(
      `namespace ${controlPlaneNamespace} is that of the control plane, and would be labelled anew: add --without namespace, or --with linkerd`,
    );
  const objects = install(options, wanted);
  terminal.out(written(objects, formatFrom(given)));
  return 0;
}

/** Prints what to delete, in order. */
export async function runUninstall(given: Given, terminal: Terminal): Promise<number> {
  const options = optionsFrom(given, valuesFrom(given, terminal).values);
  // A namespace of another name may hold more than signet.
  const ours = uninstall(options).filter(({ kind }) => kind !== 'Namespace' || options.namespace === 'signet');
  // What signet made by itself is in no manifest.
  const secret = `kubectl delete --ignore-not-found secret ${names.secret} -n ${options.namespace}`;
  const lines = ours.map(deletion);
  const last = lines.findIndex((line) => line.includes(' namespace '));
  lines.splice(last < 0 ? lines.length : last, 0, secret);
  terminal.out(`${[...new Set(lines)].join('\n')}\n`);
  return 0;
}

function written(objects: readonly JsonObject[], format: ReturnType<typeof formatFrom>): string {
  if (format === 'json') return writeJson({ apiVersion: 'v1', kind: 'List', items: objects });
  return objects.map(writeYaml).join('---\n');
}

function optionsFrom(given: Given, values: Values): InstallOptions {
  const files = given.all('values');
  if (files.length > 1)
    throw new Failure('signet install takes one values file; it becomes the ConfigMap signet-values');
  const replicas = Number(given.last('replicas') ?? 2);
  if (!Number.isInteger(replicas) || replicas < 1)
    throw new Failure(`--replicas takes a whole number from 1; found ${JSON.stringify(given.last('replicas'))}`);
  const url = given.last('url') ?? '';
  if (url !== '' && !/^https:\/\/[^/]/.test(url))
    throw new Failure(`--url takes an https:// address; found ${JSON.stringify(url)}`);
  if (url !== '' && !['', '/'].includes(url.replace(/^https:\/\/[^/?#]+/, '')))
    throw new Failure(
      `--url takes host and port alone, since each entry has a path of its own; found ${JSON.stringify(url)}`,
    );
  const namespace = given.last('namespace') ?? 'signet';
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace))
    throw new Failure(`--namespace takes the name of a namespace; found ${JSON.stringify(namespace)}`);
  if (namespace.startsWith('kube-'))
    throw new Failure(
      `--namespace ${namespace}: signet goes into a namespace of its own, which it labels; not into one of Kubernetes`,
    );
  if (given.last('image') !== undefined && !/^[^\s:@/][^\s]*$/.test(given.last('image') ?? ''))
    throw new Failure(`--image takes the name of an image; found ${JSON.stringify(given.last('image'))}`);
  return {
    namespace,
    image: given.last('image') ?? `ghcr.io/signet-dev/signet:${version}`,
    replicas,
    values: files[0] === undefined ? '{}\n' : readText(files[0]),
    url,
    ...fromValues(values),
  };
}

/** The default components, with those named and without those named. */
function chosen(given: Given): readonly string[] {
  const known = Object.keys(components);
  for (const name of [...given.all('with'), ...given.all('without')]) {
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    throw new Failure(
      `there is no component ${JSON.stringify(name)}; ${near === undefined ? `there are ${known.join(', ')}` : `did you mean ${near}?`}`,
    );
  }
  // Beside a Linkerd installation the namespace is Linkerd's.
  const isLeftOut = (name: string) => name === 'namespace' && given.all('with').includes('linkerd');
  const isWanted = (name: string) =>
    given.all('with').includes(name) ||
    (components[name]?.isDefault === true && !given.all('without').includes(name) && !isLeftOut(name));
  const wanted = known.filter(isWanted);
  const certificates = wanted.filter((name) => name === 'self-signed' || name === 'cert-manager');
  if (certificates.length > 1)
    throw new Failure('self-signed and cert-manager both make the certificate: add --without self-signed');
  return wanted;
}

const selectorText = Object.entries(labels)
  .map(([key, value]) => `${key}=${String(value)}`)
  .join(',');

function deletion(object: JsonObject): string {
  const metadata =
    typeof object.metadata === 'object' && object.metadata !== null && 'name' in object.metadata ? object.metadata : {};
  const namespace = 'namespace' in metadata ? ` -n ${metadata.namespace}` : '';
  // There is one for each profile of values that are not at hand.
  const which = object.kind === 'ClusterSPIFFEID' ? `-l ${selectorText}` : metadata.name;
  return `kubectl delete --ignore-not-found ${String(object.kind).toLowerCase()}${groupOf(object)} ${which}${namespace}`;
}

/** Kinds that are not Kubernetes' own are named with their group. */
function groupOf(object: JsonObject): string {
  const group = String(object.apiVersion).split('/')[0] ?? '';
  return /cert-manager\.io|monitoring\.coreos\.com|spire\.spiffe\.io/.test(group) ? `.${group}` : '';
}
