import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Api } from '../cluster/api.js';
import { readSecret, writeSecret } from '../cluster/certificate-secret.js';
import { writeEvent } from '../cluster/events.js';
import { seeFeatures } from '../cluster/features.js';
import { NamespaceCache } from '../cluster/namespaces.js';
import { registerBundle, registeredBundle } from '../cluster/registration.js';
import { features } from '../inject/identity/features.js';
import { duration } from '../inject/settings/duration.js';
import { objects } from '../install/options.js';
import { type Lifetimes, SelfSignedCertificates, type Store, type Stored } from '../server/certificates/self-signed.js';
import type { CertificateSource } from '../server/certificates/source.js';
import { EventRecorder } from '../server/events.js';
import { handshake } from '../server/handshake.js';
import { apiFrom } from './cluster.js';
import { causeOf, Failure } from './failure.js';
import type { Given } from './flags.js';
import type { Surroundings } from './serve.js';
import { auditRegularly } from './serve-audit.js';
import { TrustRoots } from './serve-trust-roots.js';

const wait = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal });

/** Wires the webhook to a cluster: namespaces, certificate, Events, readiness. */
export async function clusterSurroundings(
  given: Given,
  log: Logger,
  files: CertificateSource | undefined,
): Promise<Surroundings> {
  const api = apiFrom(given);
  const namespace = given.last('namespace') ?? process.env.POD_NAMESPACE ?? 'signet';
  const service = `${objects.service}.${namespace}.svc`;
  const onTrouble = (message: string) => log.warn(message);
  const following = { wait, random: Math.random, onTrouble };
  const cache: NamespaceCache = new NamespaceCache(api, {
    ...following,
    onChange: (changed) => roots.namespaceChanged(changed),
  });
  const roots = new TrustRoots(api, following, cache);
  const own = files === undefined ? selfSigned(given, api, namespace, service, onTrouble) : undefined;
  const certificates = files ?? own;
  if (certificates === undefined)
    throw new Failure('signet serve needs a certificate: --self-signed, or --tls-cert and --tls-key');
  void cache.run();
  await own?.start();
  const events = new EventRecorder({ write: (draft) => writeEvent(api, draft, new Date()), now: Date.now, onTrouble });
  return {
    namespace: (name) => cache.find(name),
    isKnown: (name) => cache.has(name),
    certificates,
    decided: (name, admission) => {
      events.decided(name, admission);
      if (admission.outcome === 'injected') roots.podAsked(name);
    },
    lacksTrustRoots: (name) => roots.areMissingIn(name),
    features: async (values) => (features.some(({ couldMatter }) => couldMatter(values)) ? seeFeatures(api) : {}),
    use: (values) => roots.use(values),
    valuesInvalid: (mistakes) => {
      const message = `the values are invalid, the last good ones are used: ${mistakes}`;
      aboutValues(api, namespace, message).catch((error: unknown) => onTrouble(`events: ${causeOf(error)}`));
    },
    becomeReady: (port) => becomeReady(api, cache, port, given.all('host')[0] ?? service, log),
    audit: (mesh, metrics) => auditRegularly(given, api, mesh, metrics, onTrouble),
    stop: () => {
      cache.stop();
      roots.stop();
    },
  };
}

/** An Event on our own Pod; with its uid, or it would not show in `kubectl describe`. */
async function aboutValues(api: Api, namespace: string, message: string): Promise<void> {
  const pod = process.env.POD_UID;
  const about = {
    apiVersion: 'v1',
    kind: 'Pod',
    name: process.env.HOSTNAME ?? '',
    namespace,
    ...(pod === undefined ? {} : { uid: pod }),
  };
  await writeEvent(api, { namespace, reason: 'ValuesInvalid', message, about, type: 'Warning' }, new Date());
}

function selfSigned(
  given: Given,
  api: Api,
  namespace: string,
  service: string,
  onTrouble: (message: string) => void,
): SelfSignedCertificates | undefined {
  if (!given.has('self-signed')) return undefined;
  const hosts = given.all('host');
  const isAddress = (host: string) => /^[\d.]+$|:/.test(host);
  return new SelfSignedCertificates({
    store: secretStore(api, namespace),
    register: async (bundle) => {
      await registerBundle(api, objects.webhook, bundle);
    },
    dnsNames: [service, `${service}.cluster.local`, ...hosts.filter((host) => !isAddress(host))],
    addresses: hosts.filter(isAddress),
    lifetimes: lifetimesFrom(given),
    now: Date.now,
    wait,
    onTrouble,
  });
}

function lifetimesFrom(given: Given): Lifetimes {
  const authorityMs = milliseconds(given, 'ca-lifetime', '8760h');
  const leafMs = milliseconds(given, 'cert-lifetime', '720h');
  return { authorityMs, leafMs, checkMs: Math.min(60_000, leafMs / 10), settleMs: Math.min(5000, leafMs / 20) };
}

function milliseconds(given: Given, flag: 'ca-lifetime' | 'cert-lifetime', fallback: string): number {
  const text = given.last(flag) ?? fallback;
  const parsed = duration(text);
  if (!parsed.ok || parsed.value <= 0n)
    throw new Failure(`--${flag} takes a duration such as 720h; found ${JSON.stringify(text)}`);
  return Number(parsed.value / 1_000_000n);
}

const keys = {
  authorityCert: 'ca.crt',
  authorityKey: 'ca.key',
  leafCert: 'tls.crt',
  leafKey: 'tls.key',
  previous: 'ca-previous.crt',
};

/** The Secret as the certificates see it. One that lacks a part holds nothing that could be used. */
function secretStore(api: Api, namespace: string): Store {
  return {
    read: async () => {
      const found = await readSecret(api, namespace, objects.secret);
      return found && { stored: storedIn(found.texts), version: found.version };
    },
    write: ({ authority, leaf, previous }, basedOn) =>
      writeSecret(
        api,
        namespace,
        objects.secret,
        {
          [keys.authorityCert]: authority.cert,
          [keys.authorityKey]: authority.key,
          [keys.leafCert]: leaf.cert,
          [keys.leafKey]: leaf.key,
          [keys.previous]: previous,
        },
        basedOn,
      ),
  };
}

function storedIn(texts: Readonly<Record<string, string>>): Stored | undefined {
  const [caCert, caKey, cert, key] = [
    texts[keys.authorityCert],
    texts[keys.authorityKey],
    texts[keys.leafCert],
    texts[keys.leafKey],
  ];
  if (!caCert || !caKey || !cert || !key) return undefined;
  return { authority: { cert: caCert, key: caKey }, leaf: { cert, key }, previous: texts[keys.previous] ?? '' };
}

/**
 * Ready once the namespaces are known and a handshake with our own port succeeds by the bundle that the API server has. From
 * then on for good: an API server that is away cannot send anything either, and must find us when it is back.
 */
async function becomeReady(
  api: Api,
  cache: NamespaceCache,
  port: number,
  servername: string,
  log: Logger,
): Promise<void> {
  let told = '';
  // At the start everything comes within milliseconds of the namespaces; later it is for somebody to repair.
  for (let ms = 5; ; ms = Math.min(250, ms * 1.5)) {
    const reason = await whyNotReady(api, cache, port, servername);
    if (reason === undefined) return;
    if (reason !== told) log.info({ reason }, 'not ready yet');
    told = reason;
    await delay(ms);
  }
}

async function whyNotReady(
  api: Api,
  cache: NamespaceCache,
  port: number,
  servername: string,
): Promise<string | undefined> {
  if (!cache.isSynced) return 'the namespaces are not read yet';
  try {
    const bundle = await registeredBundle(api, objects.webhook);
    if (bundle === undefined) return 'the entries of the webhook configuration have no common caBundle yet';
    const trouble = await handshake(port, bundle, servername);
    return trouble === undefined ? undefined : `what we serve does not verify by the registered caBundle: ${trouble}`;
  } catch (error) {
    return `the webhook configuration cannot be read: ${causeOf(error)}`;
  }
}
