import { type Clock, systemClock } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import { type Metrics, NO_METRICS } from '../metrics.ts';
import { createBoundedTally } from './bounded-tally.ts';
import type { Limiter } from './limiter.ts';
import type { Limits } from './limits.ts';
import { createMeteredLimiter } from './metered-limiter.ts';
import { createProcessLimiter } from './process-limiter.ts';
import { type RunScript, createRedisLimiter } from './redis-limiter.ts';
import { createSharedLimiter } from './shared-limiter.ts';

/** A Redis that may go away at any time, and costs nobody a wait while it is. */
export interface RedisConnection {
  /** False from the first command that fails until Redis takes a write again. */
  usable(): boolean;
  /** Rejects soon where Redis does not answer, at once where it is known to be away. */
  readonly run: RunScript;
  close(): void;
}

/** Connects; a Redis that is away makes no start fail. */
export type ConnectRedis = (options: {
  /** What every key begins with. */
  readonly keyPrefix: string;
  /** Hears it each time that Redis begins or ceases to be usable; the reason is fit for the log. */
  readonly onChange: (usable: boolean, reason: string | undefined) => void;
}) => Promise<RedisConnection>;

export interface RunningLimiter {
  readonly limiter: Limiter;
  /** Redis is to keep the limits and is away: this process keeps them alone. */
  isAlone(): boolean;
  /** Frees what has ended, a part at a time; to be called every second. */
  forgetEnded(): void;
  close(): void;
}

const KEY_PREFIX = 'svault:';
/** Some milliseconds of work. All that a process holds is looked at within a minute. */
const SWEPT_EACH_TIME = 10_000;

/** @param connectRedis where limits are kept for several processes; undefined where this one keeps them alone */
export async function startLimiter({
  connectRedis,
  limits,
  clock,
  logger,
  metrics,
}: {
  readonly connectRedis: ConnectRedis | undefined;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}): Promise<RunningLimiter> {
  const tally = createBoundedTally();
  const showBackend = (usable: boolean): void => {
    metrics.limiterBackend({ backend: 'redis' }, usable ? 1 : 0);
    metrics.limiterBackend({ backend: 'process' }, usable ? 0 : 1);
  };
  const onChange = (usable: boolean, reason: string | undefined): void => {
    showBackend(usable);
    if (usable) logger.info('Redis keeps the limits');
    else logger.warn({ reason }, 'Redis is away; this process keeps the limits by itself');
  };

  showBackend(false);
  const redis = await connectRedis?.({ keyPrefix: KEY_PREFIX, onChange });
  const limiter =
    redis === undefined
      ? createProcessLimiter({ limits, tally, clock })
      : createSharedLimiter({
          redis: createRedisLimiter({ run: redis.run, limits, prefix: KEY_PREFIX, ...timeOf(clock) }),
          usable: redis.usable,
          limits,
          tally,
          clock,
        });
  return {
    limiter: metrics === NO_METRICS ? limiter : createMeteredLimiter(limiter, metrics.limiterDecision),
    isAlone: () => redis !== undefined && !redis.usable(),
    forgetEnded: () => tally.sweep(Math.floor(clock.monotonic()), SWEPT_EACH_TIME),
    close: () => redis?.close(),
  };
}

/** Processes have no clock in common but Redis's own; a test's clock stands for that one too. */
const timeOf = (clock: Clock): { readonly nowMs?: () => number } =>
  clock === systemClock ? {} : { nowMs: () => Math.floor(clock.monotonic()) };
