import { createServer, type Server, type ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from './metrics.js';

/** What the probes ask for. */
export interface Health {
  /** Why the server is not ready, or nothing when it is. */
  readonly notReady: () => string | undefined;
}

/** The plain server for probes and metrics, which no webhook request comes to. */
export function createAdmin(metrics: Metrics, health: Health): Server {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const server = createServer(async (request, response) => {
    switch (request.url) {
      case '/live':
        return say(response, 200, 'ok\n');
      case '/ready': {
        const reason = health.notReady();
        return say(response, reason === undefined ? 200 : 503, `${reason ?? 'ok'}\n`);
      }
      case '/metrics':
        metrics.eventLoopLag.set(Math.max(0, delay.percentile(99) / 1e9 - 0.02));
        delay.reset();
        return say(response, 200, await metrics.registry.metrics(), metrics.registry.contentType);
      default:
        return say(response, 404, 'there are /live, /ready and /metrics\n');
    }
  });
  server.on('close', () => delay.disable());
  return server;
}

function say(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type });
  response.end(text);
}
