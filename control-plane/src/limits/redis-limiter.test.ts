import { NO_REDIS, REDIS_PROGRAM, type RedisServer, startRedis } from '@svault/test-kit/redis-server';
import { Secret } from '@svault/shared';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRedis } from '../store/redis.ts';
import { limiterContract } from './limiter.contract.ts';
import { createLimits } from './limits.ts';
import { createRedisLimiter } from './redis-limiter.ts';
import type { RedisConnection } from './start-limiter.ts';

const where = REDIS_PROGRAM === undefined ? `Redis (${NO_REDIS})` : 'Redis';

describe.skipIf(REDIS_PROGRAM === undefined)(where, () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let redis: Redis;
  const keyPrefix = 'test:';

  beforeAll(async () => {
    server = await startRedis();
    connection = await connectRedis(new Secret(server.url), { keyPrefix, onChange: () => {} });
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    connection.close();
    redis.disconnect();
    await server.kill();
  });

  limiterContract('Redis', (limits, clock) => {
    const nowMs = (): number => clock.monotonic();
    const limiter = createRedisLimiter({ run: connection.run, limits, prefix: keyPrefix, nowMs });
    return {
      limiter: {
        admit: async (request) => (await limiter.admit(request)).verdict,
        take: async (counter, vaultId) => (await limiter.take(counter, vaultId)).verdict,
        lockouts: (vaultId) => limiter.lockouts(vaultId),
      },
      close: () => {},
    };
  });

  test('todo', () => { expect(createLimits({})).toBeDefined(); });
});
