import { pemBlocks } from '../values/pem.js';

/** The certificates of a bundle that have expired, each with the name of its subject and its last day. */
export function expiredIn(pem: string, now: number): readonly string[] {
  return certificatesIn(pem).flatMap((one) =>
    one !== undefined && Date.parse(one.validTo) < now
      ? [`${one.subject.replaceAll('\n', ', ')} (${one.validTo})`]
      : [],
  );
}

/** Whether every certificate of a bundle can be read. */
export function isReadable(pem: string): boolean {
  return certificatesIn(pem).every((one) => one !== undefined);
}

/** The day on which the first certificate of a bundle expires; nothing when there is none. */
export function firstExpiry(pem: string): number | undefined {
  const days = certificatesIn(pem).flatMap((one) => (one === undefined ? [] : [Date.parse(one.validTo)]));
  return days.length === 0 ? undefined : Math.min(...days);
}

/** Node's cryptography takes 15 ms to load, which no file without certificates should pay for. */
function certificatesIn(pem: string) {
  return pemBlocks(pem)
    .filter(({ label }) => label === 'CERTIFICATE')
    .map(({ text }) => {
      try {
        return new (process.getBuiltinModule('node:crypto').X509Certificate)(text);
      } catch {
        return undefined;
      }
    });
}
