import { type Id, ManualClock, Secret, newId } from '@svault/shared';
import { NO_REDIS, REDIS_PROGRAM, type RedisServer, startRedis } from '@svault/test-kit/redis-server';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBoundedTally } from '../../src/limits/bounded-tally.ts';
import type { Admission, Counter, Limiter } from '../../src/limits/limiter.ts';
import { createLimits } from '../../src/limits/limits.ts';
import { createRedisLimiter } from '../../src/limits/redis-limiter.ts';
import { createSharedLimiter } from '../../src/limits/shared-limiter.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import { connectRedis } from '../../src/store/redis/redis.ts';

const PREFIX = 'flaky:';
const PATIENT_MS = 10_000;
const PROCESSES = 3;
const LIMIT = 6;
const counter: Counter = { scope: 'key_reveal', key: 'x', limit: LIMIT, windowMs: 60_000 };

/** What becomes of one question to Redis: never sent, counted and answered too late, counted with no answer at all. */
const FATES = ['answered', 'answered', 'unsent', 'late', 'lost', 'away'] as const;
type Fate = (typeof FATES)[number];

describe.skipIf(REDIS_PROGRAM === undefined)(
  `limits over a flaky Redis (${REDIS_PROGRAM ?? NO_REDIS})`,
  () => {
    let server: RedisServer;
    let connection: RedisConnection;
    let redis: Redis;
    beforeAll(async () => {
      server = await startRedis();
      redis = new Redis(server.url);
      const options = { keyPrefix: PREFIX, onChange: () => {} };
      connection = await connectRedis(new Secret(server.url), options, PATIENT_MS);
    });
    afterAll(async () => {
      connection.close();
      redis.disconnect();
      await server.kill();
    });

    /** One process, whose next question fares as it is told. */
    function startProcess(clock: ManualClock) {
      let fate: Fate = 'answered';
      const late: (() => void)[] = [];
      const limits = createLimits({ agent_credentials: LIMIT });
      const limiter = createSharedLimiter({
        redis: createRedisLimiter({
          run: async (script, keys, args, onLate) => {
            if (fate === 'unsent') throw new Error('no connection');
            const reply = await connection.run(script, keys, args);
            if (fate === 'answered') return reply;
            if (fate === 'late') late.push(() => onLate?.(reply));
            throw new Error('no answer');
          },
          limits,
          prefix: PREFIX,
          nowMs: () => clock.monotonic(),
        }),
        usable: () => fate !== 'away',
        limits,
        tally: createBoundedTally(),
        clock,
      });
      return async (next: Fate, question: (by: Limiter) => ReturnType<Limiter['take']>): Promise<boolean> => {
        fate = next;
        // Nothing is asked before Redis is known to answer, and a connection keeps its answers in order.
        if (fate !== 'away') for (const come of late.splice(0)) come();
        return (await question(limiter)).allowed;
      };
    }

    /** Asks by one process after another, within one window. */
    async function drive(steps: readonly Step[], question: (by: Limiter) => ReturnType<Limiter['take']>) {
      const clock = new ManualClock();
      const processes = Array.from({ length: PROCESSES }, () => startProcess(clock));
      const admitted = Array.from({ length: PROCESSES }, () => 0);
      let alone = 0;
      for (const { process, fate } of steps) {
        clock.advance(1);
        if (!(await processes[process]!(fate, question))) continue;
        admitted[process]! += 1;
        if (fate !== 'answered') alone += 1;
      }
      return { processes, admitted, alone, all: admitted.reduce((sum, one) => sum + one) };
    }

    interface Step {
      readonly process: number;
      readonly fate: Fate;
    }
    const schedule = fc.array(
      fc.record({ process: fc.nat(PROCESSES - 1), fate: fc.constantFrom(...FATES) }),
      { minLength: 1, maxLength: 40 },
    );

    test('no process lets through more than the limit, nor all of them more than the limit and what they decided alone', async () => {
      const property = fc.asyncProperty(schedule, async (steps) => {
        const callerId: Id<'agt'> = newId('agt');
        const asked: Admission = {
          vaultId: newId('vlt'),
          callerId,
          traffic: 'agent_credentials',
          aggregateLimit: 600,
          extraCounters: [],
        };
        const { admitted, alone, all } = await drive(steps, (limiter) => limiter.admit(asked));
        expect(Math.max(...admitted)).toBeLessThanOrEqual(LIMIT);
        expect(all).toBeLessThanOrEqual(LIMIT + alone);
      });
      await fc.assert(property, { numRuns: 300 });
    });

    test('whatever happened, once each process has asked again Redis knows of everything that was let through', async () => {
      const property = fc.asyncProperty(schedule, async (steps) => {
        const vaultId = newId('vlt');
        const question = (limiter: Limiter) => limiter.take(counter, vaultId);
        const { processes, all } = await drive(steps, question);
        let more = 0;
        for (const ask of processes) if (await ask('answered', question)) more += 1;
        const held = (await redis.get(`${PREFIX}{${vaultId}}:key_reveal:60000:x`)) ?? '';
        const count = Number(held.split(' ')[1]);
        expect(count).toBeGreaterThanOrEqual(all + more);
        // Of what had no answer nobody knows whether it was counted; everything else is counted once.
        if (steps.every(({ fate }) => fate !== 'lost')) expect(count).toBe(all + more);
      });
      await fc.assert(property, { numRuns: 300 });
    });
  },
);
