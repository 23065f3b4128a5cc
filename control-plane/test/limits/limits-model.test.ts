import { Secret } from '@svault/shared';
import { NO_REDIS, REDIS_PROGRAM, type RedisServer, startRedis } from '@svault/test-kit/redis-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import { connectRedis } from '../../src/store/redis/redis.ts';
import { processOnTime, twoProcessesOnTime } from './limiters-on-time.ts';
import { AS_SPECIFIED, WITH_SMALL_NUMBERS, compareMany } from './random-schedules.ts';

/** What is tested is the script, on a machine that may be busy. */
const PATIENT_MS = 10_000;

describe('random schedules of REST, MCP, handshakes, batches and the proxy are decided as the model says', () => {
  test('in the process, by the numbers of the specification', async () => {
    const asked = await compareMany(AS_SPECIFIED, 60, () => processOnTime(AS_SPECIFIED.limits));
    expect(asked).toBeGreaterThan(5_000);
  });

  test('in the process, by numbers so small that all of them matter', async () => {
    const asked = await compareMany(WITH_SMALL_NUMBERS, 2_000, () =>
      processOnTime(WITH_SMALL_NUMBERS.limits),
    );
    expect(asked).toBeGreaterThan(10_000);
  });

  describe.skipIf(REDIS_PROGRAM === undefined)(`over Redis (${REDIS_PROGRAM ?? NO_REDIS})`, () => {
    let server: RedisServer;
    let redis: RedisConnection;
    beforeAll(async () => {
      server = await startRedis();
      redis = await connectRedis(
        new Secret(server.url),
        { keyPrefix: 'model:', onChange: () => {} },
        PATIENT_MS,
      );
    });
    afterAll(async () => {
      redis.close();
      await server.kill();
    });

    test('by two processes in turn', async () => {
      const { limits } = WITH_SMALL_NUMBERS;
      const asked = await compareMany(WITH_SMALL_NUMBERS, 200, () =>
        twoProcessesOnTime(limits, redis, 'model:'),
      );
      expect(asked).toBeGreaterThan(1_000);
      expect(redis.usable()).toBe(true);
    });
  });
});
