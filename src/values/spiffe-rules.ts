/** What breaks the rules for a trust domain, https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md §2.1. */
export function trustDomainFlaw(domain: string): string | undefined {
  if (domain === '') return 'the trust domain is empty';
  if (domain.length > 255) return 'the trust domain is longer than 255 bytes';
  return /^[a-z0-9._-]+$/.test(domain)
    ? undefined
    : 'a trust domain has lower-case letters, digits, ".", "-" and "_" only';
}

/** What breaks the rules for the path of an ID, §2.2. */
export function pathFlaw(path: string): string | undefined {
  if (path === '') return undefined;
  if (!path.startsWith('/')) return 'a path begins with /';
  const segments = path.slice(1).split('/');
  if (segments.includes('')) return 'a segment of the path is empty';
  if (segments.includes('.') || segments.includes('..')) return 'a segment of the path is "." or ".."';
  return segments.every((segment) => /^[A-Za-z0-9._-]+$/.test(segment))
    ? undefined
    : 'a path has letters, digits, ".", "-" and "_" only';
}
