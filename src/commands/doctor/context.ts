import type { Api } from '../../cluster/api.js';
import { namespaceOf } from '../../cluster/namespaces.js';
import type { Namespace } from '../../inject/decide/opt-in.js';
import { asks, wordOf } from '../../inject/decide/opt-in.js';
import { admissionWebhooks, modeKey } from '../../inject/names.js';
import { fromValues } from '../../install/from-values.js';
import { type InstallOptions, objects } from '../../install/options.js';
import { entryOf, listAt, objectAt, textAt } from '../../json.js';
import { load } from '../../values/load.js';
import { installedValues } from '../cluster.js';

/** What a check says: nothing wrong, something to know, something to mend. */
export interface Said {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly hint?: string;
}

/** One check: its group, its name, where the README says more, and what it does. */
export interface Check {
  readonly group: string;
  readonly check: string;
  readonly section: string;
  /** What is not so when it fails, so that nothing after it can be told. */
  readonly without?: string;
  readonly run: (context: Context) => Promise<Said>;
}

/** All is well, and what was seen. */
export function well(detail = ''): Said {
  return { status: 'ok', detail };
}

/** Something to know. */
export function beware(detail: string, hint: string): Said {
  return { status: 'warning', detail, hint };
}

/** Something to mend. */
export function broken(detail: string, hint: string): Said {
  return { status: 'failed', detail, hint };
}

/** The cluster as the checks see it; what several of them need is read once. */
export class Context {
  readonly api: Api;
  readonly home: string;

  constructor(api: Api, home: string) {
    this.api = api;
    this.home = home;
  }

  /** The registration as it is in the cluster. */
  readonly configuration = once(() => this.api.get(`${configurations}/${objects.webhook}`));

  /** The values of the webhook; the defaults where they cannot be read, so that other checks can go on. */
  readonly values = once(() =>
    installedValues(this.api, this.home).catch(() => {
      const defaults = load([]);
      if ('mistakes' in defaults) throw new Error('the defaults are not valid');
      return defaults.loaded;
    }),
  );

  /** Every namespace that has opted in, and whose Pods are not left alone for another reason. */
  readonly optedIn = once(async () => {
    const excluded = [...(await this.values()).values.signet.excludedNamespaces, this.home];
    const isLeftAlone = ({ name, labels, annotations }: Namespace) =>
      excluded.includes(name) ||
      entryOf(labels, admissionWebhooks) === 'disabled' ||
      entryOf(annotations, modeKey) === 'audit';
    const found: Namespace[] = [];
    for await (const object of this.api.items('/api/v1/namespaces')) {
      const namespace = namespaceOf(object);
      if (namespace === undefined) continue;
      const isGoing = textAt(objectAt(object, 'status'), 'phase') === 'Terminating';
      if (asks(wordOf(namespace)) && !isGoing && !isLeftAlone(namespace)) found.push(namespace);
    }
    return found;
  });

  /** How this version would install what is installed. */
  async options(): Promise<InstallOptions> {
    const { values } = await this.values();
    const client = objectAt(listAt(await this.configuration(), 'webhooks')[0], 'clientConfig');
    const url = textAt(client, 'url') ?? '';
    return {
      namespace: this.home,
      image: '',
      replicas: 2,
      values: '',
      url: url === '' ? '' : new URL(url).origin,
      ...fromValues(values),
    };
  }
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | undefined;
  return () => {
    known ??= read();
    return known;
  };
}

export const configurations = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
