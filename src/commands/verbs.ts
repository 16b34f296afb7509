import { run as diff } from './diff.js';
import { run as explain } from './explain.js';
import type { FlagName, Given } from './flags.js';
import { run as inject } from './inject.js';
import type { Terminal } from './terminal.js';
import { run as uninject } from './uninject.js';
import { run as values } from './values.js';

/**
 * A verb of the command line. The offline ones share most of their code and come as one file, because every file more
 * costs a millisecond at the start; what needs a server or a cluster is loaded when it runs.
 */
export interface Verb {
  readonly usage: string;
  readonly summary: string;
  readonly flags: readonly FlagName[];
  readonly run: (given: Given, terminal: Terminal) => Promise<number>;
}

const valueFlags: readonly FlagName[] = ['values', 'set', 'set-file'];
const judging: readonly FlagName[] = [...valueFlags, 'namespace', 'namespaces', 'all', 'template'];

/** Every verb, in the order of the help. */
export const verbs: { readonly [name: string]: Verb } = {
  inject: {
    usage: 'signet inject [flags] FILE…',
    summary: 'print manifests as the webhook would leave them',
    flags: [...judging, 'output', 'require'],
    run: inject,
  },
  uninject: {
    usage: 'signet uninject [flags] FILE…',
    summary: 'take everything injected out again',
    flags: ['template', 'output'],
    run: uninject,
  },
  diff: {
    usage: 'signet diff [flags] FILE…',
    summary: 'show what injection would change',
    flags: [...judging, 'exit-code'],
    run: diff,
  },
  explain: {
    usage: 'signet explain [flags] FILE…|KIND/NAME…',
    summary: 'say what would happen to each workload, and why',
    flags: [...judging, 'output', 'require', 'kubeconfig', 'signet-namespace'],
    run: explain,
  },
  serve: {
    usage: 'signet serve [flags]',
    summary: 'run the admission webhook',
    flags: [
      ...valueFlags,
      'addr',
      'admin-addr',
      'kubeconfig',
      'namespace',
      'self-signed',
      'host',
      'ca-lifetime',
      'cert-lifetime',
      'tls-cert',
      'tls-key',
      'client-ca',
      'client-name',
      'standalone',
      'namespaces',
      'ca-file',
      'drain-seconds',
      'audit-interval',
      'log-level',
    ],
    run: async (given, terminal) => (await import('./serve.js')).run(given, terminal),
  },
  install: {
    usage: 'signet install [flags]',
    summary: 'print the manifests that install signet',
    flags: [...valueFlags, 'namespace', 'image', 'replicas', 'url', 'with', 'without', 'output'],
    run: async (given, terminal) => (await import('./install.js')).run(given, terminal),
  },
  uninstall: {
    usage: 'signet uninstall [flags]',
    summary: 'print what to delete, in order',
    flags: ['namespace'],
    run: async (given, terminal) => (await import('./install.js')).runUninstall(given, terminal),
  },
  doctor: {
    usage: 'signet doctor [flags]',
    summary: 'check an installation',
    flags: ['kubeconfig', 'signet-namespace', 'output'],
    run: async (given, terminal) => (await import('./doctor.js')).run(given, terminal),
  },
  audit: {
    usage: 'signet audit [flags] [FILE…]',
    summary: 'list running Pods that lack the identity they ought to carry, or carry a stale one',
    flags: [...valueFlags, 'kubeconfig', 'signet-namespace', 'namespace', 'output'],
    run: async (given, terminal) => (await import('./audit.js')).run(given, terminal),
  },
  values: {
    usage: 'signet values [flags]',
    summary: 'check and print the effective values',
    flags: [...valueFlags, 'output', 'origin'],
    run: values,
  },
};
