/** One block of a PEM text. */
export interface PemBlock {
  readonly label: string;
  readonly text: string;
}

const block = /-----BEGIN ([A-Z0-9 ]{1,64})-----\s+([A-Za-z0-9+/=\s]+)-----END \1-----/g;

/** The blocks of a PEM text; what stands between them is a comment, by custom. */
export function pemBlocks(text: string): readonly PemBlock[] {
  return [...text.matchAll(block)].map((found) => ({ label: found[1] ?? '', text: found[0] }));
}

/** What makes a text unfit to be handed to every Pod as trust roots, or nothing. */
export function bundleFlaw(text: string): string | undefined {
  const blocks = pemBlocks(text);
  // Looked for by itself: a key that is cut off is a key that leaked all the same.
  const secret = /-----BEGIN ([A-Z0-9 ]{0,64}PRIVATE KEY)-----/.exec(text)?.[1];
  if (secret !== undefined) return `a private key (${secret}), which must never leave its owner`;
  if (blocks.length === 0) return text.trim() === '' ? 'nothing' : 'a text without a PEM certificate in it';
  const other = blocks.find(({ label }) => label !== 'CERTIFICATE');
  if (other !== undefined) return `a PEM block ${JSON.stringify(other.label)}`;
  const begun = text.split('-----BEGIN ').length - 1;
  return begun > blocks.length ? 'a PEM certificate that is cut off' : undefined;
}
