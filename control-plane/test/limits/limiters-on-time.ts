import { ManualClock } from '@svault/shared';
import { createCounterStore } from '../../src/limits/counter-store.ts';
import type { Limiter } from '../../src/limits/limiter.ts';
import type { Limits } from '../../src/limits/limits.ts';
import { createProcessLimiter } from '../../src/limits/process-limiter.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import type { LimiterOnTime } from './random-schedules.ts';
import { limiterOver } from './redis-fixture.ts';

const onTime = (clock: ManualClock, limiter: Limiter): LimiterOnTime => ({
  limiter,
  setTime: (atMs) => clock.advance(atMs - clock.monotonic()),
});

export function processOnTime(limits: Limits): LimiterOnTime {
  const clock = new ManualClock();
  return onTime(clock, createProcessLimiter({ limits, store: createCounterStore(), clock }));
}

/** Two processes over one Redis that serve requests in turn. */
export function twoProcessesOnTime(limits: Limits, redis: RedisConnection): LimiterOnTime {
  const clock = new ManualClock();
  const limiters = [limiterOver(redis, limits, clock), limiterOver(redis, limits, clock)];
  let turn = 0;
  const next = (): Limiter => limiters[(turn += 1) % 2]!;
  return onTime(clock, {
    admit: (request) => next().admit(request),
    take: (counter, vaultId) => next().take(counter, vaultId),
    usage: (counters, vaultId) => next().usage(counters, vaultId),
    lockouts: (vaultId) => next().lockouts(vaultId),
  });
}
