import { ManualClock, newId } from '@svault/shared';
import { expect, test } from 'vitest';
import { createCounterStore } from './counter-store.ts';
import { deniedBy } from './kernel.ts';
import type { LimitedCaller } from './limiter.ts';
import { createLimits } from './limits.ts';
import type { FlushedCounter, RedisCounters, RedisReply } from './redis-counters.ts';
import { createRedisLimiter } from './redis-limiter.ts';

const MINUTE = 60_000;

/** A Redis with one counter, which replies when the test says so, and which locks each caller out. */
function makeRedis() {
  let count = 0;
  let replies: 'in time' | 'late' | 'never' = 'in time';
  const late: (() => void)[] = [];
  const flushed: number[] = [];
  const take = async (
    { counter, increments }: FlushedCounter,
    onLateReply: (reply: RedisReply) => void,
  ): Promise<RedisReply> => {
    flushed.push(increments);
    if (replies === 'never') throw new Error('no connection');
    count += increments + 1;
    const windows = [{ counter, count, leftMs: MINUTE, added: increments + 1 }];
    const reply: RedisReply = { verdict: { allowed: true }, box: undefined, windows };
    if (replies === 'in time') return reply;
    late.push(() => onLateReply(reply));
    throw new Error('no reply in time');
  };
  const admissions: LimitedCaller[] = [];
  const callerId = newId('agt');
  const redis: RedisCounters = {
    take,
    admit: async (caller) => {
      admissions.push(caller);
      const state = { strikes: 1, violatedForMs: 0, lockedForMs: MINUTE };
      return { verdict: deniedBy('agent_credentials', MINUTE), box: { caller, state }, windows: [] };
    },
    usage: async () => [{ used: count, resetsInSeconds: 60 }],
    lockouts: async () =>
      [9, 50, 10].map((retryAfterSeconds) => ({ callerId, strikes: 1, retryAfterSeconds })),
  };
  return {
    redis,
    admissions,
    flushed,
    count: () => count,
    countElsewhere: (uses: number) => (count += uses),
    reply: (when: typeof replies) => (replies = when),
    deliverLateReplies: () => late.splice(0).forEach((deliver) => deliver()),
  };
}

function start() {
  const redis = makeRedis();
  const vaultId = newId('vlt');
  const [limits, store, clock] = [createLimits({}), createCounterStore(), new ManualClock()];
  const limiter = createRedisLimiter({ redis: redis.redis, usable: () => true, limits, store, clock });
  const counter = { scope: 'key_reveal', key: 'agt_x', limit: 10, windowMs: MINUTE } as const;
  const take = async (): Promise<boolean> => (await limiter.take(counter, vaultId)).allowed;
  return { ...redis, clock, limiter, vaultId, take };
}

test('pending increments stay pending until a request with them gets a reply', async () => {
  const { take, reply, flushed, count } = start();
  reply('never');
  for (let time = 0; time < 3; time += 1) expect(await take()).toBe(true);
  reply('in time');
  await take();
  await take();
  expect(flushed).toEqual([0, 1, 2, 3, 0]);
  expect(count()).toBe(5);
});

test('one of several simultaneous requests flushes the pending increments', async () => {
  const { take, reply, flushed, count } = start();
  reply('never');
  await take();
  reply('in time');
  await Promise.all([take(), take(), take()]);
  expect(flushed).toEqual([0, 1, 0, 0]);
  expect(count()).toBe(4);
});

test('what a late reply says about other processes holds from then on', async () => {
  const { take, reply, deliverLateReplies, countElsewhere } = start();
  countElsewhere(7);
  reply('late');
  expect(await take()).toBe(true);
  deliverLateReplies();
  reply('never');
  expect([await take(), await take(), await take()]).toEqual([true, true, false]);
});

test('pending increments of a window that has ended are not flushed', async () => {
  const { take, reply, clock, flushed } = start();
  reply('never');
  await take();
  clock.advance(MINUTE);
  reply('in time');
  await take();
  expect(flushed).toEqual([0, 0]);
});

test('a reply that comes after the end of its window does not change the next one', async () => {
  const { take, reply, deliverLateReplies, clock, flushed } = start();
  reply('late');
  await take();
  clock.advance(MINUTE);
  reply('never');
  for (let time = 0; time < 9; time += 1) expect(await take()).toBe(true);
  deliverLateReplies();
  expect([await take(), await take()]).toEqual([true, false]);
  reply('in time');
  await take();
  expect(flushed.at(-1)).toBe(10);
});

test('a request of a caller whose lockout Redis knows is denied without a round trip', async () => {
  const { limiter, admissions, vaultId } = start();
  const request = {
    vaultId,
    callerId: newId('agt'),
    traffic: 'agent_credentials',
    aggregateLimit: 600,
    extraCounters: [],
  } as const;
  for (const scope of ['agent_credentials', 'penalty_box'])
    expect(await limiter.admit(request)).toMatchObject({ scope, retryAfterSeconds: 60 });
  expect(admissions).toHaveLength(1);
});

test('lockouts lists a caller once, with its longest lockout', async () => {
  const { limiter, vaultId } = start();
  expect(await limiter.lockouts(vaultId)).toMatchObject([{ retryAfterSeconds: 50 }]);
});
