import type { KeyPair } from './source.js';

/** Five minutes earlier than now: the clocks of a cluster are never quite the same. */
const backdatedMs = 5 * 60_000;

export interface Lifetime {
  readonly from: number;
  readonly ms: number;
}

/** Makes a certificate authority. Each has a name of its own, so that an old and a new one can stand in one bundle. */
export async function makeAuthority(name: string, lifetime: Lifetime): Promise<KeyPair> {
  const generate = await generator();
  const made = await generate([{ name: 'commonName', value: name }], {
    ...algorithm,
    ...dates(lifetime),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { key: made.private, cert: made.cert };
}

/** Makes a serving certificate for DNS names and addresses, signed by an authority. */
export async function makeLeaf(
  authority: KeyPair,
  dnsNames: readonly string[],
  addresses: readonly string[],
  lifetime: Lifetime,
): Promise<KeyPair> {
  const generate = await generator();
  const made = await generate([{ name: 'commonName', value: dnsNames[0] ?? 'signet' }], {
    ...algorithm,
    ...dates(lifetime),
    ca: { key: authority.key, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'keyUsage', digitalSignature: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          ...dnsNames.map((value) => ({ type: 2 as const, value })),
          ...addresses.map((ip) => ({ type: 7 as const, ip })),
        ],
      },
    ],
  });
  return { key: made.private, cert: made.cert };
}

type Generate = typeof import('selfsigned').generate;

/** Loaded when needed: it takes 170 ms, and most starts find a good certificate. Bundled, a CommonJS package has all it exports under `default`. */
async function generator(): Promise<Generate> {
  const loaded: { readonly generate?: Generate; readonly default?: { readonly generate: Generate } } = await import(
    'selfsigned'
  );
  const generate = loaded.generate ?? loaded.default?.generate;
  if (generate === undefined) throw new Error('the package selfsigned has no generate');
  return generate;
}

/** Said on every call: the defaults of the package are RSA and SHA-1, which Go refuses. */
const algorithm = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const;

function dates({ from, ms }: Lifetime): { readonly notBeforeDate: Date; readonly notAfterDate: Date } {
  return { notBeforeDate: new Date(from - backdatedMs), notAfterDate: new Date(from + ms) };
}
