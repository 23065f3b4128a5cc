import { type Id, newId, systemClock } from '@svault/shared';
import { expect, test } from 'vitest';
import { createCounterStore } from '../../src/limits/counter-store.ts';
import type { Admission } from '../../src/limits/limiter.ts';
import { createLimits } from '../../src/limits/limits.ts';
import { createRedisCounters } from '../../src/limits/redis-counters.ts';
import { createRedisLimiter } from '../../src/limits/redis-limiter.ts';
import { processOnTime, twoProcessesOnTime } from './limiters-on-time.ts';
import { AS_SPECIFIED, WITH_SMALL_NUMBERS, compareMany } from './random-schedules.ts';
import { PREFIX, describeWithRedis } from './redis-fixture.ts';

const HALF_AN_HOUR = 30 * 60_000;

test(
  'the process limiter decides a million random schedules as the model does',
  async () => {
    const { limits } = WITH_SMALL_NUMBERS;
    const asked = await compareMany(WITH_SMALL_NUMBERS, 1_000_000, () => processOnTime(limits));
    expect(asked).toBeGreaterThan(5_000_000);
  },
  HALF_AN_HOUR,
);

test(
  "the process limiter decides ten thousand schedules with the specification's numbers as the model does",
  async () => {
    const asked = await compareMany(AS_SPECIFIED, 10_000, () => processOnTime(AS_SPECIFIED.limits));
    expect(asked).toBeGreaterThan(1_000_000);
  },
  HALF_AN_HOUR,
);

describeWithRedis('the limiter over Redis', (redis) => {
  test(
    'two processes in turn decide twenty thousand random schedules as the model does',
    async () => {
      const connection = await redis().connect();
      const { limits } = WITH_SMALL_NUMBERS;
      const asked = await compareMany(WITH_SMALL_NUMBERS, 20_000, () =>
        twoProcessesOnTime(limits, connection),
      );
      expect(asked).toBeGreaterThan(100_000);
    },
    HALF_AN_HOUR,
  );

  test('two processes at once, on their own clocks, admit exactly as many requests as there is room for', async () => {
    const limits = createLimits({});
    const connections = [await redis().connect(), await redis().connect()];
    const limiters = connections.map(({ run, usable }) =>
      createRedisLimiter({
        redis: createRedisCounters({ run, prefix: PREFIX }),
        usable,
        limits,
        store: createCounterStore(),
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
            const verdict = await limiters[index % 2]!.admit(request(agent));
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
