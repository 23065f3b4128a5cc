import { ManualClock } from '@svault/shared';
import { createBoundedTally } from '../../src/limits/bounded-tally.ts';
import type { Limiter } from '../../src/limits/limiter.ts';
import type { Limits } from '../../src/limits/limits.ts';
import { createProcessLimiter } from '../../src/limits/process-limiter.ts';
import { createRedisLimiter } from '../../src/limits/redis-limiter.ts';
import { createSharedLimiter } from '../../src/limits/shared-limiter.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import type { LimiterOnTime } from './random-schedules.ts';

const onTime = (clock: ManualClock, limiter: Limiter): LimiterOnTime => ({
  limiter,
  setTime: (atMs) => clock.advance(atMs - clock.monotonic()),
});

export function processOnTime(limits: Limits): LimiterOnTime {
  const clock = new ManualClock();
  return onTime(clock, createProcessLimiter({ limits, tally: createBoundedTally(), clock }));
}

/** Two processes over one Redis, which are asked in turn. */
export function twoProcessesOnTime(limits: Limits, redis: RedisConnection, prefix: string): LimiterOnTime {
  const clock = new ManualClock();
  const makeOne = (): Limiter =>
    createSharedLimiter({
      redis: createRedisLimiter({ run: redis.run, limits, prefix, nowMs: () => clock.monotonic() }),
      usable: redis.usable,
      limits,
      tally: createBoundedTally(),
      clock,
    });
  const [one, other] = [makeOne(), makeOne()];
  let turn = 0;
  const next = (): Limiter => ((turn += 1) % 2 === 0 ? one : other);
  return onTime(clock, {
    admit: (request) => next().admit(request),
    take: (counter, vaultId) => next().take(counter, vaultId),
    lockouts: (vaultId) => next().lockouts(vaultId),
  });
}
