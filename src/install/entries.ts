/**
 * The ways by which the API server reaches signet. Each entry of the registration has a path of its own, so that the
 * handler knows by which selector a Pod came, and what the API server does when there is no answer.
 */
export interface Entry {
  readonly name: 'namespace' | 'pod' | 'rest' | 'services';
  readonly path: string;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly resource: 'pods' | 'services';
}

export const entries: readonly Entry[] = [
  { name: 'namespace', path: '/mutate/namespace', failurePolicy: 'Fail', resource: 'pods' },
  { name: 'pod', path: '/mutate/pod', failurePolicy: 'Fail', resource: 'pods' },
  { name: 'rest', path: '/mutate/rest', failurePolicy: 'Ignore', resource: 'pods' },
  { name: 'services', path: '/mutate/services', failurePolicy: 'Ignore', resource: 'services' },
];
