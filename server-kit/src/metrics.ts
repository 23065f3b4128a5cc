import { Registry, collectDefaultMetrics } from 'prom-client';
import { type Listener, listen } from './listener.ts';
import type { ListenAddress } from './settings.ts';

/** A registry of its own per server, so that two servers in one process (a test) do not share counters. */
export function createMetrics(prefix: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ program: prefix });
  return registry;
}

/** `GET /metrics` in Prometheus text on an address of its own, which an operator keeps private. */
export async function serveMetrics(registry: Registry, address: ListenAddress): Promise<Listener> {
  collectDefaultMetrics({ register: registry });
  return listen((req, res) => {
    if (req.method !== 'GET' || req.url !== '/metrics') {
      res.writeHead(404, { 'Content-Type': 'text/plain' }).end('not found\n');
      return;
    }
    registry.metrics().then(
      (text) => res.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => res.writeHead(500).end(),
    );
  }, address);
}
