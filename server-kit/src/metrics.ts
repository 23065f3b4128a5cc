import { setTimeout as delay } from 'node:timers/promises';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { type Listener, listen } from './listener.ts';
import type { Labels, Meters, MetricDeclaration, Values } from './meters.ts';
import type { ListenAddress } from './settings.ts';
import { createSingleFlight } from './single-flight.ts';

/** Series that exist from the start, so that a rate sees the first event too. Of a metric with more, each begins with its event. */
const MAX_FROM_START = { counter: 512, histogram: 32 };
/** A database that hangs must not keep the other metrics from a Prometheus, which waits 10 s. */
const READ_WITHIN_MS = 1_000;
/** Gauges of prom-client with the suffix of counters. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** One registry for each server, so that two servers in one process (a test) do not share counters. */
export const createMetrics = (): Registry => new Registry();

/** Meters that write to this registry. */
export function metersOf(registry: Registry): Meters {
  const common = ({ name, help, labels }: MetricDeclaration) => ({
    ...{ name, help, labelNames: Object.keys(labels) },
    registers: [registry],
  });
  return {
    counter: (declared) => {
      const counter = new Counter(common(declared));
      for (const labels of fromStart(declared, MAX_FROM_START.counter)) counter.inc(labels, 0);
      const known = knownOf(declared);
      return (labels) => counter.inc(known(labels));
    },
    gauge: (declared) => {
      const gauge = new Gauge(common(declared));
      const known = knownOf(declared);
      return (labels, value) => gauge.set(known(labels), value);
    },
    histogram: (declared) => {
      const histogram = new Histogram({ ...common(declared), buckets: [...declared.buckets] });
      for (const labels of fromStart(declared, MAX_FROM_START.histogram)) histogram.zero(labels);
      const known = knownOf(declared);
      return (labels, value) => histogram.observe(known(labels), value);
    },
    reading: (declared) => {
      const known = knownOf(declared);
      let readValues: (() => Promise<Values>) | undefined;
      // Registers itself.
      const gauge = new Gauge({
        ...common(declared),
        collect: async () => {
          const values = await readValues?.();
          if (Object.keys(declared.labels).length === 0) gauge.remove();
          else gauge.reset();
          for (const [labels, value] of values ?? []) gauge.set(known(labels), value);
        },
      });
      return (read) => {
        readValues = inTime(read);
      };
    },
  };
}

/** One read at a time. @returns none where it fails or takes too long */
function inTime(read: () => Values | Promise<Values>): () => Promise<Values> {
  const once = createSingleFlight<Values>();
  return () => {
    const values = once('', async () => read()).catch((): Values => []);
    const late = delay<Values>(READ_WITHIN_MS, [], { ref: false });
    return Promise.race([values, late]);
  };
}

/** Puts `other` in place of each value that was not declared, so that the number of series has a bound. */
function knownOf({ labels }: MetricDeclaration): (labels: Labels) => Labels {
  const known = Object.entries(labels).map(([name, values]) => [name, new Set(values)] as const);
  return (given) => {
    const result: Record<string, string> = {};
    for (const [name, values] of known) {
      const value = given[name] ?? '';
      result[name] = values.has(value) ? value : 'other';
    }
    return result;
  };
}

function fromStart({ labels }: MetricDeclaration, max: number): readonly Labels[] {
  const entries = Object.entries(labels);
  if (entries.reduce((count, [, values]) => count * values.length, 1) > max) return [];
  return entries.reduce<Labels[]>(
    (all, [name, values]) => all.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
}

/** `GET /metrics` in Prometheus text on a separate address, which the operator keeps private. */
export async function serveMetrics(registry: Registry, address: ListenAddress): Promise<Listener> {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
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
