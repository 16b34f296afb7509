import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from '../cluster/api.js';
import { type FindingCode, findings } from '../inject/audit.js';
import type { Mesh } from '../inject/mesh.js';
import { duration } from '../inject/settings/duration.js';
import type { Metrics } from '../server/metrics.js';
import { audit, rootsIn } from './audit.js';
import { Failure } from './failure.js';
import type { Given } from './flags.js';

/** Audits the cluster again and again, beside the webhook, and exports the counts; the returned function ends it. */
export function auditRegularly(
  given: Given,
  api: Api,
  mesh: () => Mesh,
  metrics: Metrics,
  onTrouble: (message: string) => void,
): () => void {
  const text = given.last('audit-interval');
  if (text === undefined) return () => {};
  const parsed = duration(text);
  const ms = parsed.ok ? Number(parsed.value / 1_000_000n) : 0;
  if (ms < 1000)
    throw new Failure(
      `--audit-interval takes a duration of a second or more, such as 10m; found ${JSON.stringify(text)}`,
    );
  const stop = new AbortController();
  const look = async () => {
    const counts = new Map<FindingCode, number>();
    const population = {
      mesh: mesh(),
      namespaces: () => api.items('/api/v1/namespaces'),
      pods: () => api.items('/api/v1/pods'),
      rootsChanged: () => rootsIn(api, mesh()),
    };
    const { looked } = await audit(population, ({ finding }) => counts.set(finding, (counts.get(finding) ?? 0) + 1));
    for (const finding of Object.keys(findings))
      metrics.auditFindings.set({ finding }, [...counts].find(([code]) => code === finding)?.[1] ?? 0);
    metrics.auditedPods.set(looked);
    metrics.auditTime.set(Date.now() / 1000);
  };
  const loop = async () => {
    while (!stop.signal.aborted) {
      await look().catch((error: unknown) => onTrouble(`audit: ${error instanceof Error ? error.message : error}`));
      await delay(ms, undefined, { signal: stop.signal }).catch(() => {});
    }
  };
  void loop();
  return () => stop.abort();
}
