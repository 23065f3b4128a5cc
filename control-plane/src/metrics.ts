import { type Meters, NO_METERS } from '@svault/server-kit/meters';

/** Every metric of this server, in addition to Node's; docs/operate/monitoring.md. */
export const createMetrics = (meters: Meters) => ({
  limiterDecision: meters.counter('svault_limiter_decisions_total', 'Requests that were counted or refused', [
    'scope',
    'verdict',
  ]),
  limiterBackend: meters.gauge('svault_limiter_backend', '1 where limits are kept now, 0 elsewhere', [
    'backend',
  ]),
});

export type Metrics = ReturnType<typeof createMetrics>;

export const NO_METRICS: Metrics = createMetrics(NO_METERS);
