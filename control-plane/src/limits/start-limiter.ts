import type { Logger } from '@svault/server-kit/logger';
import { type Clock, systemClock } from '@svault/shared';
import { type Metrics, NO_METRICS } from '../metrics.ts';
import { createCounterStore } from './counter-store.ts';
import type { Limiter, LimiterVerdict } from './limiter.ts';
import type { Limits } from './limits.ts';
import { createProcessLimiter } from './process-limiter.ts';
import { type RunScript, createRedisCounters } from './redis-counters.ts';
import { createRedisLimiter } from './redis-limiter.ts';

/** A Redis that may go away at any time; no request waits for it while it is away. */
export interface RedisConnection {
  /** False from the first command that fails until Redis takes a write again. */
  usable(): boolean;
  /** Rejects soon where Redis does not reply, at once where it is known to be away. */
  readonly run: RunScript;
  close(): void;
}

/** Connects. Resolves where Redis is away, too. */
export type ConnectRedis = (options: {
  /** What each key begins with. */
  readonly keyPrefix: string;
  /** Called each time that Redis becomes usable or unusable; the reason may be logged. */
  readonly onChange: (usable: boolean, reason: string | undefined) => void;
}) => Promise<RedisConnection>;

const KEY_PREFIX = 'svault:';
/** Some milliseconds of work; within a minute all entries are checked. */
const CHECKED_PER_CALL = 10_000;

/** @param connectRedis undefined where this process keeps the limits alone */
export async function startLimiter(options: {
  readonly connectRedis: ConnectRedis | undefined;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}) {
  const { connectRedis, limits, clock, logger, metrics } = options;
  const store = createCounterStore();
  const showBackend = (usable: boolean): void => {
    if (connectRedis !== undefined) metrics.limiterBackend({ backend: 'redis' }, usable ? 1 : 0);
    metrics.limiterBackend({ backend: 'process' }, usable ? 0 : 1);
  };
  const onChange = (usable: boolean, reason: string | undefined): void => {
    showBackend(usable);
    if (usable) logger.info('Redis keeps the limits');
    else logger.warn({ reason }, 'Redis is away; this process keeps the limits by itself');
  };

  showBackend(false);
  const connection = await connectRedis?.({ keyPrefix: KEY_PREFIX, onChange });
  // Processes share Redis's clock; a test's clock replaces that one too.
  const nowMs = clock === systemClock ? undefined : () => Math.floor(clock.monotonic());
  const limiter =
    connection === undefined
      ? createProcessLimiter({ limits, store, clock })
      : createRedisLimiter({
          redis: createRedisCounters({ run: connection.run, prefix: KEY_PREFIX, nowMs }),
          usable: connection.usable,
          limits,
          store,
          clock,
        });
  return {
    limiter: metrics === NO_METRICS ? limiter : meter(limiter, metrics.limiterDecision),
    /** Redis is configured and away: this process keeps the limits alone. */
    redisIsDown: (): boolean => connection !== undefined && !connection.usable(),
    /** Frees expired entries, a part at a time. Call it each second. */
    evictExpired: (): void => store.evictExpired(Math.floor(clock.monotonic()), CHECKED_PER_CALL),
    close: (): void => connection?.close(),
  };
}

/** Counts verdicts: an admission by its own scope, a denial by the scope that denied. */
function meter(limiter: Limiter, count: Metrics['limiterDecision']): Limiter {
  const counted = <T extends LimiterVerdict | Promise<LimiterVerdict>>(scope: string, decided: T): T => {
    const record = (verdict: LimiterVerdict): void =>
      verdict.allowed
        ? count({ scope, verdict: 'admitted' })
        : count({ scope: verdict.scope, verdict: 'denied' });
    if (decided instanceof Promise) void decided.then(record, () => {});
    else record(decided);
    return decided;
  };
  return {
    admit: (request) => counted(request.traffic, limiter.admit(request)),
    take: (counter, vaultId) => counted(counter.scope, limiter.take(counter, vaultId)),
    usage: (counters, vaultId) => limiter.usage(counters, vaultId),
    lockouts: (vaultId) => limiter.lockouts(vaultId),
  };
}
