import { type IdentityParts, readMount } from './attachment.js';
import type { IdentityCase } from './identity.js';
import { rootsSource } from './trust-roots.js';

/**
 * Identity by Pod certificate: the kubelet makes the key, has it certified, and keeps both fresh in a projected volume, with
 * the trust roots beside them. For readers of files only.
 */
export function podCertificateIdentity({ values, layout }: IdentityCase): IdentityParts {
  const { signerName, keyType, maxExpirationSeconds } = values.signet.identity.podCertificate;
  const { volume: name, path, files, roots } = layout.credentials;
  const podCertificate = { signerName, keyType, maxExpirationSeconds, ...files };
  return {
    attachments: [
      {
        volume: { name, projected: { sources: [{ podCertificate }, rootsSource(values, roots)] } },
        mount: readMount(name, path, true),
      },
    ],
    environment: [],
  };
}
