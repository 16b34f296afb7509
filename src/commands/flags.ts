import { parseArgs } from 'node:util';
import { nearest } from '../values/nearest.js';
import { Failure } from './failure.js';

/** One flag: how it is written, what follows it, what it does. */
export interface Flag {
  readonly short?: string;
  /** What stands for its value in the help; without one the flag is a switch. */
  readonly value?: string;
  readonly help: string;
}

/** Every flag of every verb; the help, the parser and the README read this table. */
export const flags = {
  values: { short: 'f', value: 'FILE', help: 'values file; may be repeated, later ones win, merged as Helm does' },
  set: { value: 'PATH=VALUE', help: 'set one value, after the files; may be repeated' },
  'set-file': { value: 'PATH=FILE', help: 'set one value to the content of a file; may be repeated' },
  namespace: {
    short: 'n',
    value: 'NAME',
    help: 'namespace of objects that name none (default: default; with --all none); for audit, look at this one alone',
  },
  namespaces: {
    value: 'FILE',
    help: 'Namespace objects to take labels and annotations from; those in the input count too',
  },
  all: { help: 'inject everything that has not opted out, as `linkerd inject --manual` does' },
  template: {
    value: 'KIND=PATH',
    help: 'where the Pod template of a custom kind is, such as Rollout.argoproj.io=spec.template',
  },
  output: {
    short: 'o',
    value: 'FORMAT',
    help: 'yaml or json (default: as the input); for explain, doctor and audit json (default: text)',
  },
  require: { help: 'exit with 1 when a workload that asked for injection was not injected' },
  'exit-code': { help: 'exit with 1 when there is a difference' },
  origin: { help: 'say where each value comes from' },
  addr: { value: 'HOST:PORT', help: 'where the webhook listens, over HTTPS (default: :8443)' },
  'admin-addr': { value: 'HOST:PORT', help: 'where /live, /ready and /metrics are, over HTTP (default: :9990)' },
  standalone: { help: 'serve without a cluster: namespaces from --namespaces, a certificate made at start' },
  'ca-file': {
    value: 'FILE',
    help: 'where --standalone writes the certificate to verify it by (default: signet-ca.crt)',
  },
  'tls-cert': { value: 'FILE', help: 'serving certificate; read again when it changes' },
  'tls-key': { value: 'FILE', help: 'its private key' },
  kubeconfig: { value: 'FILE', help: 'how to reach the cluster (default: from inside of a Pod, else as kubectl does)' },
  'self-signed': { help: 'make and renew the serving certificate, in a Secret that all replicas share' },
  host: { value: 'NAME', help: 'another name or address in that certificate; may be repeated' },
  'ca-lifetime': { value: 'DURATION', help: 'lifetime of our own certificate authority (default: 8760h)' },
  'cert-lifetime': { value: 'DURATION', help: 'lifetime of our own serving certificate (default: 720h)' },
  image: { value: 'IMAGE', help: 'image of signet' },
  replicas: { value: 'NUMBER', help: 'replicas of the webhook (default: 2)' },
  url: { value: 'URL', help: 'register a webhook that runs outside of the cluster, at this address' },
  with: { value: 'COMPONENT', help: 'add a component; may be repeated' },
  without: { value: 'COMPONENT', help: 'leave a default component out; may be repeated' },
  'client-ca': { value: 'FILE', help: 'accept only callers with a certificate of this authority' },
  'client-name': { value: 'NAME', help: 'and of this common name; may be repeated' },
  'drain-seconds': {
    value: 'SECONDS',
    help: 'how long to serve on after SIGTERM, until no new request comes (default: 5)',
  },
  'signet-namespace': { value: 'NAME', help: 'namespace that signet is installed in (default: signet)' },
  'audit-interval': {
    value: 'DURATION',
    help: 'look at the Pods of the cluster so often, and export what `signet audit` finds as a metric (default: never)',
  },
  'log-level': { value: 'LEVEL', help: 'debug, info, warn or error (default: info)' },
  help: { short: 'h', help: 'show this help' },
} as const satisfies { readonly [name: string]: Flag };

export type FlagName = keyof typeof flags;

/** What was given on the command line. */
export interface Given {
  readonly files: readonly string[];
  readonly has: (name: FlagName) => boolean;
  /** All values of a flag, in their order. */
  readonly all: (name: FlagName) => readonly string[];
  /** The last value of a flag. */
  readonly last: (name: FlagName) => string | undefined;
}

/** Reads the command line of a verb; what is not in its list of flags is a failure that names the nearest one. */
export function readFlags(args: readonly string[], allowed: readonly FlagName[]): Given {
  const options = Object.fromEntries(
    allowed.map((name) => {
      const flag: Flag = flags[name];
      const short = flag.short === undefined ? {} : { short: flag.short };
      return [
        name,
        { ...short, type: flag.value === undefined ? ('boolean' as const) : ('string' as const), multiple: true },
      ];
    }),
  );
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new Failure(explain(error, args, allowed));
  }
  const all = (name: FlagName) => (parsed.values[name] as readonly (string | boolean)[] | undefined) ?? [];
  return {
    files: parsed.positionals,
    has: (name) => all(name).length > 0,
    all: (name) => all(name).map(String),
    last: (name) => all(name).map(String).at(-1),
  };
}

function explain(error: unknown, args: readonly string[], allowed: readonly FlagName[]): string {
  const message = error instanceof Error ? error.message : String(error);
  const unknown = /Unknown option '(-+[^']*)'/.exec(message)?.[1];
  if (unknown !== undefined) {
    const name = unknown.replace(/^-+/, '');
    if (Object.hasOwn(flags, name)) return `the flag ${unknown} belongs to other verbs; --help lists those of this one`;
    const near = nearest(name, allowed);
    return `unknown flag ${unknown}${near === undefined ? '; --help lists them' : `; did you mean --${near}?`}`;
  }
  const needsValue = /Option '(?:-\w, )?(--[\w-]+) <value>' argument missing/.exec(message)?.[1];
  if (needsValue !== undefined) return `the flag ${needsValue} needs a value`;
  const takesNone = /Option '(?:-\w, )?(--[\w-]+)' does not take an argument/.exec(message)?.[1];
  if (takesNone !== undefined) return `the flag ${takesNone} takes no value`;
  return message || `cannot read the command line: ${args.join(' ')}`;
}

/** One line of help a flag. */
export function flagLines(names: readonly FlagName[]): string {
  const left = (name: FlagName) => {
    const flag: Flag = flags[name];
    return `${flag.short === undefined ? '    ' : `-${flag.short}, `}--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`;
  };
  const width = Math.max(...names.map((name) => left(name).length));
  return names.map((name) => `  ${left(name).padEnd(width)}  ${flags[name].help}`).join('\n');
}
