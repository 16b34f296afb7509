import { writeFileSync } from 'node:fs';
import { bareNamespace, type Namespace } from '../inject/decide/opt-in.js';
import { makeAuthority, makeLeaf } from '../server/certificates/make.js';
import type { CertificateSource } from '../server/certificates/source.js';
import { causeOf, Failure } from './failure.js';
import type { Given } from './flags.js';
import { documentsOf, openInputs } from './input.js';
import type { Surroundings } from './serve.js';
import { collectNamespaces } from './transform.js';

const month = 30 * 86_400_000;

/** Wires the webhook to nothing but files: namespaces as they are there, a certificate for this machine. */
export async function standaloneSurroundings(
  given: Given,
  files: CertificateSource | undefined,
): Promise<Surroundings> {
  const namespaces = await namespacesFrom(given);
  const made = await madeForHere();
  return {
    namespace: (name) => namespaces.get(name) ?? bareNamespace(name),
    isKnown: (name) => namespaces.has(name),
    certificates: files ?? made,
    decided: () => {},
    valuesInvalid: () => {},
    // Not before we listen: whoever was faster has written his own.
    becomeReady: async () => {
      if (files === undefined) writeAuthority(caFile(given), made.authority);
    },
    lacksTrustRoots: () => false,
    features: async () => ({}),
    use: () => {},
    audit: () => () => {},
    stop: () => {},
  };
}

/** Where the certificate to verify by is written. */
export function caFile(given: Given): string {
  return given.last('ca-file') ?? 'signet-ca.crt';
}

async function namespacesFrom(given: Given): Promise<ReadonlyMap<string, Namespace>> {
  const namespaces = new Map<string, Namespace>();
  if (!given.has('namespaces')) return namespaces;
  for (const input of await openInputs(given.all('namespaces'))) {
    for (const chunk of documentsOf(input)) collectNamespaces(chunk, input.name, namespaces);
    input.close();
  }
  return namespaces;
}

async function madeForHere(): Promise<CertificateSource & { readonly authority: string }> {
  const lifetime = { from: Date.now(), ms: month };
  const authority = await makeAuthority(`signet-standalone-${lifetime.from}`, lifetime);
  const pair = await makeLeaf(authority, ['localhost'], ['127.0.0.1'], lifetime);
  return { current: () => pair, watch: () => () => {}, authority: authority.cert };
}

function writeAuthority(file: string, cert: string): void {
  try {
    writeFileSync(file, cert);
  } catch (error) {
    throw new Failure(`cannot write ${file}: ${causeOf(error)}; --ca-file names another`);
  }
}
