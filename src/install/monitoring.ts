import type { JsonObject } from '../json.js';
import { type InstallOptions, labels } from './options.js';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: 'warning' | 'critical';
  readonly summary: string;
}

/** What an operator wants to be woken for, or told of in the morning. */
const alerts: readonly Alert[] = [
  {
    alert: 'SignetFailedOpen',
    expr: `sum(increase(apiserver_admission_webhook_fail_open_count{name=~".*\\\\.signet\\\\.dev"}[10m])) > 0`,
    for: '0m',
    severity: 'warning',
    summary: 'The API server let Pods pass without asking signet',
  },
  {
    alert: 'SignetErrors',
    expr: 'sum(increase(signet_admission_errors_total{cause!="bad_request"}[10m])) > 0',
    for: '5m',
    severity: 'critical',
    summary: 'signet gives no decision for some requests',
  },
  {
    alert: 'SignetCertificateExpires',
    expr: 'min(signet_certificate_not_after_seconds) - time() < 86400',
    for: '10m',
    severity: 'critical',
    summary: 'The serving certificate of signet expires within a day and was not renewed',
  },
  {
    alert: 'SignetValuesInvalid',
    expr: 'max(signet_values_invalid) > 0',
    for: '5m',
    severity: 'warning',
    summary: 'The values of signet are invalid; it goes on with the last good ones',
  },
  {
    alert: 'SignetRefuses',
    expr: 'sum(increase(signet_admission_total{outcome="refused"}[10m])) by (reason) > 0',
    for: '0m',
    severity: 'warning',
    summary: 'signet refuses Pods',
  },
];

/** Alerts and a dashboard. */
export function monitoring({ namespace }: InstallOptions): readonly JsonObject[] {
  return [
    {
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: 'signet', namespace, labels },
      spec: {
        groups: [
          {
            name: 'signet',
            rules: alerts.map(({ alert, expr, for: lasting, severity, summary }) => ({
              alert,
              expr,
              for: lasting,
              labels: { severity },
              annotations: { summary },
            })),
          },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'signet-dashboard', namespace, labels: { ...labels, grafana_dashboard: '1' } },
      data: { 'signet.json': JSON.stringify(dashboard, undefined, 2) },
    },
  ];
}

const panels: readonly (readonly [title: string, expr: string, unit: string])[] = [
  ['Admissions a second, by outcome', 'sum(rate(signet_admission_total[5m])) by (outcome)', 'ops'],
  [
    'Skipped and refused, by reason',
    'sum(rate(signet_admission_total{outcome=~"skipped|refused"}[5m])) by (reason)',
    'ops',
  ],
  [
    'Time to decide, 99th percentile',
    'histogram_quantile(0.99, sum(rate(signet_admission_duration_seconds_bucket[5m])) by (le))',
    's',
  ],
  ['No decision, by cause', 'sum(rate(signet_admission_errors_total[5m])) by (cause)', 'ops'],
  ['Days until the certificate expires', '(min(signet_certificate_not_after_seconds) - time()) / 86400', 'd'],
  ['Event loop lag', 'max(signet_event_loop_lag_seconds) by (pod)', 's'],
];

const dashboard = {
  title: 'signet',
  uid: 'signet',
  schemaVersion: 39,
  timezone: 'browser',
  time: { from: 'now-6h', to: 'now' },
  refresh: '1m',
  panels: panels.map(([title, expr, unit], index) => ({
    id: index + 1,
    title,
    type: 'timeseries',
    gridPos: { h: 8, w: 12, x: (index % 2) * 12, y: Math.floor(index / 2) * 8 },
    fieldConfig: { defaults: { unit }, overrides: [] },
    targets: [{ refId: 'A', expr }],
  })),
};
