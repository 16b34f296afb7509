/** A port number; Linkerd finds out when the API server refuses the Pod. */
export const port = { expected: 'a port from 1 to 65535', holds: (value: number) => value >= 1 && value <= 65535 };

/** A Kubernetes quantity, or nothing. */
export const amount = {
  expected: 'a Kubernetes quantity such as 100m, 0.5 or 64Mi',
  holds: (value: string) => /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?)?$/.test(value),
};

/** A quantity of something that must have room for something. */
export const size = {
  expected: 'a Kubernetes quantity above zero such as 1Mi',
  holds: (value: string) => amount.holds(value) && !/^-|^[+]?0*\.?0*(?:[a-zA-Z]|$)/.test(value.replace(/^$/, '1')),
};

/** One name in a directory: a `/` or `..` would lead out of it. */
export const fileName = {
  expected: 'a file name without /',
  holds: (value: string) => /^[^/\0]{1,255}$/.test(value) && value !== '.' && value !== '..',
};

/** A place in a container. Kubernetes refuses a colon in it; written in one way only, two that are the same look the same. */
export const mountPath = {
  expected: 'an absolute path without a colon, a / at its end, // or ..',
  holds: (value: string) => value === '' || (/^(\/[^/:\0]+)+$/.test(value) && !/\/\.\.?(\/|$)/.test(value)),
};

/** A signer of certificates, as Kubernetes names them. */
export const signer = {
  expected: 'a signer name such as example.com/workloads',
  holds: (value: string) => value === '' || /^[a-z0-9.-]{1,253}\/[A-Za-z0-9._:-]{1,253}$/.test(value),
};

const octet = '(25[0-5]|2[0-4]\\d|1?\\d?\\d)';
const ipv4Network = new RegExp(`^${octet}(\\.${octet}){3}/(3[0-2]|[12]?\\d)$`);
const ipv6Network = /^(?=.*::|([0-9a-f]{1,4}:){7})[0-9a-f:]{2,39}\/(12[0-8]|1[01]\d|\d{1,2})$/i;

/** Linkerd trims commas at both ends, and accepts no networks at all. */
export function areNetworks(value: string): boolean {
  const trimmed = value.replace(/^,+|,+$/g, '');
  return trimmed === '' || trimmed.split(',').every((one) => ipv4Network.test(one) || ipv6Network.test(one));
}
