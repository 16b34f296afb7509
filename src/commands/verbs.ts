import type { FlagName, Given } from './flags.js';
import type { Terminal } from './terminal.js';

/** A verb of the command line. What it needs is loaded when it runs, so that no verb pays for another. */
export interface Verb {
  readonly usage: string;
  readonly summary: string;
  readonly flags: readonly FlagName[];
  readonly load: () => Promise<{ readonly run: (given: Given, terminal: Terminal) => Promise<number> }>;
}

const values: readonly FlagName[] = ['values', 'set', 'set-file'];
const judging: readonly FlagName[] = [...values, 'namespace', 'namespaces', 'all', 'template'];

/** Every verb, in the order of the help. */
export const verbs: { readonly [name: string]: Verb } = {
  inject: {
    usage: 'signet inject [flags] FILE…',
    summary: 'print manifests as the webhook would leave them',
    flags: [...judging, 'output', 'require'],
    load: () => import('./inject.js'),
  },
  uninject: {
    usage: 'signet uninject [flags] FILE…',
    summary: 'take everything injected out again',
    flags: ['template', 'output'],
    load: () => import('./uninject.js'),
  },
  diff: {
    usage: 'signet diff [flags] FILE…',
    summary: 'show what injection would change',
    flags: [...judging, 'exit-code'],
    load: () => import('./diff.js'),
  },
  explain: {
    usage: 'signet explain [flags] FILE…',
    summary: 'say what would happen to each workload, and why',
    flags: [...judging, 'output', 'require'],
    load: () => import('./explain.js'),
  },
  values: {
    usage: 'signet values [flags]',
    summary: 'check and print the effective values',
    flags: [...values, 'output', 'origin'],
    load: () => import('./values.js'),
  },
};
