import { type Id, ManualClock, newId } from '@svault/shared';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Admission, Counter, Limiter } from '../../src/limits/limiter.ts';
import { createLimits } from '../../src/limits/limits.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import { PREFIX, describeWithRedis, limiterOver } from './redis-fixture.ts';

const PROCESSES = 3;
const LIMIT = 6;
const counter: Counter = { scope: 'key_reveal', key: 'x', limit: LIMIT, windowMs: 60_000 };

/**
 * What happens to a request to Redis: unsent, counted with a late reply, counted with its reply lost; or not sent, because
 * Redis is known to be away.
 */
const FATES = ['replied', 'replied', 'unsent', 'late', 'lost', 'away'] as const;

interface Step {
  readonly process: number;
  readonly fate: (typeof FATES)[number];
}
const schedule: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ process: fc.nat(PROCESSES - 1), fate: fc.constantFrom(...FATES) }),
  { minLength: 1, maxLength: 40 },
);

type Ask = (limiter: Limiter) => ReturnType<Limiter['take']>;

describeWithRedis('limits over a flaky Redis', (redis) => {
  let connection: RedisConnection;
  let client: Redis;
  beforeAll(async () => {
    connection = await redis().connect();
    client = new Redis(redis().server.url);
  });
  afterAll(() => client.disconnect());

  /** One process. Each request to Redis has the fate that the test gives it. */
  function startProcess(clock: ManualClock) {
    let fate: Step['fate'] = 'replied';
    const late: (() => void)[] = [];
    const flaky = {
      usable: () => fate !== 'away',
      run: (async (script, keys, args, onLateReply) => {
        if (fate === 'unsent') throw new Error('no connection');
        const reply = await connection.run(script, keys, args);
        if (fate === 'replied') return reply;
        if (fate === 'late') late.push(() => onLateReply?.(reply));
        throw new Error('no reply');
      }) satisfies RedisConnection['run'],
    };
    const limiter = limiterOver(flaky, createLimits({ agent_credentials: LIMIT }), clock);
    return async (next: Step['fate'], ask: Ask): Promise<boolean> => {
      fate = next;
      // A connection keeps its replies in order, and nothing is sent before Redis is known to reply.
      if (fate !== 'away') for (const deliver of late.splice(0)) deliver();
      return (await ask(limiter)).allowed;
    };
  }

  /** Asks one process after another, within one window. */
  async function drive(steps: readonly Step[], ask: Ask) {
    const clock = new ManualClock();
    const processes = Array.from({ length: PROCESSES }, () => startProcess(clock));
    const admitted = Array.from({ length: PROCESSES }, () => 0);
    let alone = 0;
    for (const { process, fate } of steps) {
      clock.advance(1);
      if (!(await processes[process]!(fate, ask))) continue;
      admitted[process]! += 1;
      if (fate !== 'replied') alone += 1;
    }
    return { processes, admitted, alone, all: admitted.reduce((sum, one) => sum + one) };
  }

  test('no process admits more than the limit, and all of them no more than the limit and what they admitted without Redis', async () => {
    const property = fc.asyncProperty(schedule, async (steps) => {
      const callerId: Id<'agt'> = newId('agt');
      const request: Admission = {
        vaultId: newId('vlt'),
        callerId,
        traffic: 'agent_credentials',
        aggregateLimit: 600,
        extraCounters: [],
      };
      const { admitted, alone, all } = await drive(steps, (limiter) => limiter.admit(request));
      expect(Math.max(...admitted)).toBeLessThanOrEqual(LIMIT);
      expect(all).toBeLessThanOrEqual(LIMIT + alone);
    });
    await fc.assert(property, { numRuns: 300 });
  });

  /** Requests that one counter limits. @returns how to send one, and the key of what it counts in any case */
  const REQUESTS = {
    take: (vaultId: Id<'vlt'>) => ({ ask: ((limiter) => limiter.take(counter, vaultId)) satisfies Ask }),
    admit: (vaultId: Id<'vlt'>) => {
      const callerId: Id<'agt'> = newId('agt');
      const admission = { vaultId, callerId, traffic: 'mcp_handshake', aggregateLimit: 600 } as const;
      const ask: Ask = (limiter) => limiter.admit({ ...admission, extraCounters: [counter] });
      return { ask, floor: `mcp_handshake:60000:${callerId}` };
    },
  };

  test.each(['take', 'admit'] as const)(
    'after one more %s of each process, Redis has counted each use once',
    async (kind) => {
      const property = fc.asyncProperty(schedule, async (steps) => {
        const vaultId = newId('vlt');
        const { ask, floor } = { floor: undefined, ...REQUESTS[kind](vaultId) };
        const { processes, all } = await drive(steps, ask);
        let more = 0;
        for (const process of processes) if (await process('replied', ask)) more += 1;
        const countOf = async (name: string): Promise<number> => {
          const stored = await client.get(`${PREFIX}{${vaultId}}:${name}`);
          return Number(stored?.split(' ')[1]);
        };
        const count = await countOf('key_reveal:60000:x');
        expect(count).toBeGreaterThanOrEqual(all + more);
        // Nobody knows whether a request with a lost reply was counted, so it may count twice.
        if (steps.some(({ fate }) => fate === 'lost')) return;
        expect(count).toBe(all + more);
        if (floor !== undefined) expect(await countOf(floor)).toBe(steps.length + PROCESSES);
      });
      await fc.assert(property, { numRuns: 300 });
    },
  );
});
