import { readFileSync } from 'node:fs';
import { watchFiles } from '../watch-files.js';
import { type CertificateSource, flawOfPair, type KeyPair } from './source.js';

/** Two files, mounted from a Secret that somebody else renews (cert-manager). A bad pair is told of, and the old one kept. */
export function fileCertificates(
  certFile: string,
  keyFile: string,
  pollMs: number,
  onTrouble: (message: string) => void,
): CertificateSource {
  const read = (): KeyPair => ({ cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') });
  const first = read();
  const flaw = flawOfPair(first);
  if (flaw !== undefined) throw new Error(`${certFile} and ${keyFile} cannot be served: ${flaw}`);
  let current = first;
  return {
    current: () => current,
    watch: (changed) => {
      let told = '';
      return watchFiles([certFile, keyFile], pollMs, () => {
        const trouble = takeNew();
        if (trouble !== undefined && trouble !== told) onTrouble(`the certificate stays the old one: ${trouble}`);
        told = trouble ?? '';
      });
      function takeNew(): string | undefined {
        try {
          const next = read();
          if (next.cert === current.cert && next.key === current.key) return undefined;
          const wrong = flawOfPair(next);
          if (wrong !== undefined) return wrong;
          current = next;
        } catch (error) {
          return error instanceof Error ? error.message : String(error);
        }
        changed(current);
        return undefined;
      }
    },
  };
}
