import { type Id, ManualClock, newId } from '@svault/shared';
import { expect, test } from 'vitest';
import { createBoundedTally } from './bounded-tally.ts';
import type { Counter } from './limiter.ts';
import { createLimits } from './limits.ts';
import type { Aside, RedisAnswer, RedisLimiter } from './redis-limiter.ts';
import { createSharedLimiter } from './shared-limiter.ts';

const MINUTE = 60_000;
const counter: Counter = { scope: 'key_reveal', key: 'agt_x', limit: 10, windowMs: MINUTE };

/** A Redis that counts one counter, and whose answers come when the test says so. */
function makeRedis() {
  let count = 0;
  let answers: 'in time' | 'late' | 'never' = 'in time';
  const later: (() => void)[] = [];
  const told: number[] = [];
  const take = async (asked: Counter, vaultId: Id<'vlt'> | undefined, aside: Aside): Promise<RedisAnswer> => {
    const owned = { ...asked, vaultId };
    const { uses } = aside.tell(owned);
    told.push(uses);
    if (answers === 'never') throw new Error('no connection');
    count += uses + 1;
    const windows = [{ counter: owned, count, leftMs: MINUTE, added: uses + 1 }];
    const answer: RedisAnswer = { verdict: { allowed: true }, box: undefined, windows };
    if (answers === 'in time') return answer;
    later.push(() => aside.onLate(answer));
    throw new Error('no answer within the deadline');
  };
  const redis: RedisLimiter = { take, admit: () => Promise.reject(new Error()), lockouts: async () => [] };
  return {
    redis,
    told,
    count: () => count,
    countElsewhere: (uses: number) => (count += uses),
    answer: (when: typeof answers) => (answers = when),
    answerLate: () => later.splice(0).forEach((one) => one()),
  };
}

function start() {
  const redis = makeRedis();
  const vaultId = newId('vlt');
  const [limits, tally, clock] = [createLimits({}), createBoundedTally(), new ManualClock()];
  const limiter = createSharedLimiter({ redis: redis.redis, usable: () => true, limits, tally, clock });
  const take = async (): Promise<boolean> => (await limiter.take(counter, vaultId)).allowed;
  return { ...redis, clock, take };
}

test('what was counted alone is told once, with the next question that is answered', async () => {
  const { take, answer, told, count } = start();
  await take();
  answer('never');
  for (let time = 0; time < 3; time += 1) expect(await take()).toBe(true);
  answer('in time');
  await take();
  await take();
  expect(told).toEqual([0, 0, 1, 2, 3, 0]);
  expect(count()).toBe(6);
});

test('of questions at the same moment one tells it', async () => {
  const { take, answer, told, count } = start();
  answer('never');
  await take();
  answer('in time');
  await Promise.all([take(), take(), take()]);
  expect(told).toEqual([0, 1, 0, 0]);
  expect(count()).toBe(4);
});

test('an answer that comes late has counted, and is not counted again', async () => {
  const { take, answer, answerLate, told, count } = start();
  answer('never');
  await take();
  answer('late');
  expect(await take()).toBe(true);
  answerLate();
  answer('in time');
  await take();
  expect(told).toEqual([0, 1, 0]);
  expect(count()).toBe(3);
});

test('what a late answer says of others is known from then on', async () => {
  const { take, answer, answerLate, countElsewhere } = start();
  countElsewhere(7);
  answer('late');
  expect(await take()).toBe(true);
  answerLate();
  answer('never');
  expect([await take(), await take(), await take()]).toEqual([true, true, false]);
});

test('what was counted in a window that has ended is not told', async () => {
  const { take, answer, clock, told } = start();
  answer('never');
  await take();
  clock.advance(MINUTE);
  answer('in time');
  await take();
  expect(told).toEqual([0, 0]);
});

test('an answer that comes after the end of its window changes nothing of the next one', async () => {
  const { take, answer, answerLate, clock, told } = start();
  answer('late');
  await take();
  clock.advance(MINUTE);
  answer('never');
  for (let time = 0; time < 9; time += 1) expect(await take()).toBe(true);
  answerLate();
  expect([await take(), await take()]).toEqual([true, false]);
  answer('in time');
  await take();
  expect(told.at(-1)).toBe(10);
});
