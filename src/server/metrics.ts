import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Admission } from '../admission/admit.js';
import { otherReasons } from '../inject/decide/decide.js';
import { rules } from '../inject/decide/rules.js';

/** Owner kinds that a Pod can show; any other counts as empty, so that nobody can make series by inventing kinds. */
const ownerKinds = ['', 'daemonset', 'deployment', 'job', 'replicaset', 'replicationcontroller', 'statefulset'];
const skipReasons = [...rules.map(({ code }) => code), 'already_injected'];

const refusals = rules.filter((rule) => 'outcome' in rule).map(({ code }) => code);

/** Every combination of outcome and reason that can be; they start at zero, so that a first increase shows as one. */
const likely: readonly (readonly [outcome: Admission['outcome'], reason: string])[] = [
  ['injected', 'injected'],
  ['passed', 'not_concerned'],
  ['passed', 'unsupported_resource'],
  ['noted', 'unsupported_resource'],
  ...skipReasons.map((reason) => ['skipped', reason] as const),
  ...['injection_enable_annotation_absent', 'injection_disable_annotation_present', 'host_network_enabled'].map(
    (reason) => ['noted', reason] as const,
  ),
  ...[...refusals, 'override_denied', 'invalid_annotation'].map((reason) => ['refused', reason] as const),
];

/** What an admission is counted by. */
export interface Counted {
  readonly admission: Admission;
  readonly namespace: string;
  readonly seconds: number;
}

/** All metrics of the webhook. Label values come from closed sets, whatever a request says. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = new Counter({
    name: 'proxy_inject_admission_requests_total',
    help: 'A counter for number of admission requests to proxy injector.',
    labelNames: ['owner_kind', 'namespace', 'annotation_at'] as const,
    registers: [this.registry],
  });
  readonly #responses = new Counter({
    name: 'proxy_inject_admission_responses_total',
    help: 'A counter for number of admission responses from proxy injector.',
    labelNames: ['owner_kind', 'namespace', 'skip', 'skip_reason', 'annotation_at'] as const,
    registers: [this.registry],
  });
  readonly #total = new Counter({
    name: 'signet_admission_total',
    help: 'Admission reviews answered, by what came of them and why.',
    labelNames: ['outcome', 'reason'] as const,
    registers: [this.registry],
  });
  readonly #duration = new Histogram({
    name: 'signet_admission_duration_seconds',
    help: 'Time from a parsed review to its answer.',
    buckets: [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
    registers: [this.registry],
  });
  readonly #troubles = new Counter({
    name: 'signet_admission_errors_total',
    help: 'Requests that got no decision, by what went wrong.',
    labelNames: ['cause'] as const,
    registers: [this.registry],
  });
  readonly valuesInvalid = new Gauge({
    name: 'signet_values_invalid',
    help: '1 while the values on disk are invalid and the last good ones are used.',
    registers: [this.registry],
  });
  readonly certificateNotAfter = new Gauge({
    name: 'signet_certificate_not_after_seconds',
    help: 'When the serving certificate expires, in seconds since 1970.',
    registers: [this.registry],
  });
  readonly auditFindings = new Gauge({
    name: 'signet_audit_findings',
    help: 'Running Pods that `signet audit` has something to say about, by what it is; with --audit-interval.',
    labelNames: ['finding'] as const,
    registers: [this.registry],
  });
  readonly auditedPods = new Gauge({
    name: 'signet_audit_pods',
    help: 'Running Pods that the last audit looked at; with --audit-interval.',
    registers: [this.registry],
  });
  readonly auditTime = new Gauge({
    name: 'signet_audit_time_seconds',
    help: 'When the last audit ended, in seconds since 1970; with --audit-interval.',
    registers: [this.registry],
  });
  readonly eventLoopLag = new Gauge({
    name: 'signet_event_loop_lag_seconds',
    help: 'The 99th percentile of the delay of the event loop since the last scrape.',
    registers: [this.registry],
  });

  constructor() {
    for (const [outcome, reason] of likely) this.#total.inc({ outcome, reason }, 0);
    for (const cause of ['bad_request', 'namespace_unreadable', 'internal']) this.#troubles.inc({ cause }, 0);
    this.#requests.inc({ owner_kind: '', namespace: '', annotation_at: '' }, 0);
    this.#responses.inc({ owner_kind: '', namespace: '', skip: 'false', skip_reason: '', annotation_at: '' }, 0);
    this.valuesInvalid.set(0);
  }

  /** Counts a decision. `namespace` must be one that exists, or empty. */
  count({ admission, namespace, seconds }: Counted): void {
    const { outcome, reason, about } = admission;
    this.#total.inc({ outcome, reason });
    this.#duration.observe(seconds);
    if (reason === 'not_concerned') return;
    const kind = about.owner?.kind ?? '';
    const owner_kind = ownerKinds.includes(kind) ? kind : '';
    const annotation_at = about.askedBy ?? '';
    this.#requests.inc({ owner_kind, namespace, annotation_at });
    const skip = outcome === 'skipped' ? 'true' : 'false';
    this.#responses.inc({
      owner_kind,
      namespace,
      skip,
      skip_reason: outcome === 'skipped' ? reason : '',
      annotation_at,
    });
  }

  /** Counts a request that got no decision. */
  trouble(cause: 'bad_request' | 'namespace_unreadable' | 'internal'): void {
    this.#troubles.inc({ cause });
  }
}

/** Reasons as the documentation of metrics lists them. */
export const knownReasons: readonly string[] = [...skipReasons, ...Object.keys(otherReasons), 'not_concerned'];
