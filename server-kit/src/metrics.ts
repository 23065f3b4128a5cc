import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import { type Listener, listen } from './listener.ts';
import type { Meters } from './meters.ts';
import type { ListenAddress } from './settings.ts';

/** One registry for each server, so that two servers in one process (a test) do not share counters. */
export function createMetrics(prefix: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ program: prefix });
  return registry;
}

/** Meters that write to this registry. */
export const metersOf = (registry: Registry): Meters => ({
  counter: (name, help, labelNames) => {
    const counter = new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
    return (labels) => counter.inc(labels);
  },
  gauge: (name, help, labelNames) => {
    const gauge = new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
    return (labels, value) => gauge.set(labels, value);
  },
});

/** `GET /metrics` in Prometheus text on a separate address, which the operator keeps private. */
export async function serveMetrics(registry: Registry, address: ListenAddress): Promise<Listener> {
  collectDefaultMetrics({ register: registry });
  return listen(
    (req, res) => {
      if (req.method !== 'GET' || req.url !== '/metrics') {
        res.writeHead(404, { 'Content-Type': 'text/plain' }).end('not found\n');
        return;
      }
      registry.metrics().then(
        (text) => res.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
        () => res.writeHead(500).end(),
      );
    },
    { ...address, setting: 'SV_METRICS_LISTEN' },
  );
}
