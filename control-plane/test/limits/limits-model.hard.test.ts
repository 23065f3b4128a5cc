import { type Id, Secret, newId, systemClock } from '@svault/shared';
import { NO_REDIS, REDIS_PROGRAM, type RedisServer, startRedis } from '@svault/test-kit/redis-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBoundedTally } from '../../src/limits/bounded-tally.ts';
import type { Admission, Limiter } from '../../src/limits/limiter.ts';
import { createLimits } from '../../src/limits/limits.ts';
import { createRedisLimiter } from '../../src/limits/redis-limiter.ts';
import { createSharedLimiter } from '../../src/limits/shared-limiter.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import { connectRedis } from '../../src/store/redis/redis.ts';
import { processOnTime, twoProcessesOnTime } from './limiters-on-time.ts';
import { AS_SPECIFIED, WITH_SMALL_NUMBERS, compareMany } from './random-schedules.ts';

const HALF_AN_HOUR = 30 * 60_000;
/** What is tested is the script, on a machine that may be busy. */
const PATIENT_MS = 10_000;

// R26: a million random schedules against the model of the specification's section.
describe('as the model says', () => {
  test(
    'a million random schedules in the process',
    async () => {
      const asked = await compareMany(WITH_SMALL_NUMBERS, 1_000_000, () =>
        processOnTime(WITH_SMALL_NUMBERS.limits),
      );
      expect(asked).toBeGreaterThan(5_000_000);
    },
    HALF_AN_HOUR,
  );

  test(
    "ten thousand of them by the specification's own numbers",
    async () => {
      const asked = await compareMany(AS_SPECIFIED, 10_000, () => processOnTime(AS_SPECIFIED.limits));
      expect(asked).toBeGreaterThan(1_000_000);
    },
    HALF_AN_HOUR,
  );
});

describe.skipIf(REDIS_PROGRAM === undefined)(`over Redis (${REDIS_PROGRAM ?? NO_REDIS})`, () => {
  const prefix = 'hard:';
  let server: RedisServer;
  let connections: RedisConnection[];
  const connect = (): Promise<RedisConnection> =>
    connectRedis(new Secret(server.url), { keyPrefix: prefix, onChange: () => {} }, PATIENT_MS);

  beforeAll(async () => {
    server = await startRedis();
    connections = [await connect(), await connect()];
  });
  afterAll(async () => {
    for (const connection of connections) connection.close();
    await server.kill();
  });

  test(
    'twenty thousand random schedules, by two processes in turn, as the model says',
    async () => {
      const { limits } = WITH_SMALL_NUMBERS;
      const asked = await compareMany(WITH_SMALL_NUMBERS, 20_000, () =>
        twoProcessesOnTime(limits, connections[0]!, prefix),
      );
      expect(asked).toBeGreaterThan(100_000);
    },
    HALF_AN_HOUR,
  );

  test('two processes at once admit exactly what there is room for, on their own clocks', async () => {
    const limits = createLimits({});
    const replicas = connections.map(({ run, usable }): Limiter =>
      createSharedLimiter({
        redis: createRedisLimiter({ run, limits, prefix }),
        usable,
        limits,
        tally: createBoundedTally(),
        clock: systemClock,
      }),
    );
    for (let round = 0; round < 300; round += 1) {
      const vaultId = newId('vlt');
      const agents = Array.from({ length: 5 }, () => newId('agt'));
      const request = (callerId: Id<'agt'>): Admission => ({
        vaultId,
        callerId,
        traffic: 'agent_credentials',
        aggregateLimit: 250,
        extraCounters: [{ scope: 'rate_limit', key: 'shared', limit: 240, windowMs: 60_000 }],
      });
      const admitted = new Map<string, number>();
      let total = 0;
      await Promise.all(
        agents.flatMap((agent) =>
          Array.from({ length: 80 }, async (_, index) => {
            const verdict = await replicas[index % 2]!.admit(request(agent));
            if (!verdict.allowed) return;
            total += 1;
            admitted.set(agent, (admitted.get(agent) ?? 0) + 1);
          }),
        ),
      );
      expect(total).toBe(240);
      expect(Math.max(...admitted.values())).toBeLessThanOrEqual(60);
    }
    for (const { usable } of connections) expect(usable()).toBe(true);
  });
});
