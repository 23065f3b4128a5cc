import { type ManualClock, Secret } from '@svault/shared';
import { ON_BUSY_MACHINE } from '@svault/test-kit/busy-machine';
import { NO_REDIS, REDIS_PROGRAM, type RedisServer, startRedis } from '@svault/test-kit/redis-server';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe } from 'vitest';
import { type ProcessCounterStore, createCounterStore } from '../../src/limits/counter-store.ts';
import type { Limiter } from '../../src/limits/limiter.ts';
import type { Limits } from '../../src/limits/limits.ts';
import { createRedisCounters } from '../../src/limits/redis-counters.ts';
import { createRedisLimiter } from '../../src/limits/redis-limiter.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import { connectRedis } from '../../src/store/redis/redis.ts';

export const PREFIX = 'test:';

export interface RedisFixture {
  readonly server: RedisServer;
  /** Connects as the control plane does. The fixture closes all connections. */
  connect(options?: {
    readonly database?: number;
    /** Default: long, since a busy machine is slow. Undefined: the control plane's own. */
    readonly timeoutMs?: number | undefined;
    readonly onChange?: (usable: boolean) => void;
  }): Promise<RedisConnection>;
}

/** Describes tests over one Redis server; skips them, and says so, where none is installed. */
export function describeWithRedis(title: string, tests: (redis: () => RedisFixture) => void): void {
  describe.skipIf(REDIS_PROGRAM === undefined)(`${title} (${REDIS_PROGRAM ?? NO_REDIS})`, () => {
    let server: RedisServer;
    const connections: RedisConnection[] = [];
    beforeAll(async () => {
      server = await startRedis();
    });
    afterAll(async () => {
      for (const connection of connections) connection.close();
      await server.kill();
    });
    const connect: RedisFixture['connect'] = async (options = {}) => {
      const { database = 0, onChange = () => {} } = options;
      const timeoutMs = 'timeoutMs' in options ? options.timeoutMs : ON_BUSY_MACHINE.redisMs;
      const url = new Secret(`${server.url}/${database}`);
      const connection = await connectRedis(url, { keyPrefix: PREFIX, onChange }, timeoutMs);
      connections.push(connection);
      return connection;
    };
    tests(() => ({ server, connect }));
  });
}

/** Runs commands by a connection that lasts no longer, since the server may have been restarted. */
export async function atRedis<T>({ url }: RedisServer, commands: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  return commands(redis).finally(() => redis.disconnect());
}

/** The limiter of one process. Redis's clock is the test's, too. */
export const limiterOver = (
  { run, usable }: Pick<RedisConnection, 'run' | 'usable'>,
  limits: Limits,
  clock: ManualClock,
  store: ProcessCounterStore = createCounterStore(),
): Limiter =>
  createRedisLimiter({
    redis: createRedisCounters({ run, prefix: PREFIX, nowMs: () => clock.monotonic() }),
    usable,
    limits,
    store,
    clock,
  });
