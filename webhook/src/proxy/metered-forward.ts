import { ApiError } from '../errors.ts';
import { type Metrics, NO_METRICS } from '../metrics.ts';
import type { Forward } from './forward.ts';

/** Times the calls of upstreams. */
export function meterForward(forward: Forward, metrics: Metrics): Forward {
  if (metrics === NO_METRICS) return forward;
  return async (call, scrub, take) => {
    const startedMs = performance.now();
    let outcome: string | undefined;
    const record = (ended: string): void => {
      if (outcome !== undefined) return;
      outcome = ended;
      metrics.upstreamSeconds({ outcome }, (performance.now() - startedMs) / 1000);
    };
    try {
      await forward(call, scrub, (head) => {
        record('answered');
        return take(head);
      });
      record('aborted');
    } catch (error) {
      record(error instanceof ApiError ? error.code : 'other');
      throw error;
    }
  };
}
