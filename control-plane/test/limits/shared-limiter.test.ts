import { Redis } from 'ioredis';
import { type Id, ManualClock, Secret, newId } from '@svault/shared';
import { ON_BUSY_MACHINE } from '@svault/test-kit/busy-machine';
import { NO_REDIS, REDIS_PROGRAM, type RedisServer, startRedis } from '@svault/test-kit/redis-server';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createBoundedTally } from '../../src/limits/bounded-tally.ts';
import { limiterContract } from '../../src/limits/limiter.contract.ts';
import type { Limiter } from '../../src/limits/limiter.ts';
import { type Limits, createLimits } from '../../src/limits/limits.ts';
import { createRedisLimiter } from '../../src/limits/redis-limiter.ts';
import { createSharedLimiter } from '../../src/limits/shared-limiter.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import { connectRedis } from '../../src/store/redis/redis.ts';

const PREFIX = 'shared:';
/** Redis is used again within 2 s of its return; a busy machine takes longer to notice. */
const SOON = { timeout: 15_000, interval: 20 };

describe.skipIf(REDIS_PROGRAM === undefined)(`limits over ${REDIS_PROGRAM ?? `Redis: ${NO_REDIS}`}`, () => {
  const limits = createLimits({});
  let server: RedisServer;
  let connection: RedisConnection;
  let changes: boolean[];

  const over = (redis: RedisConnection, clock: ManualClock, by: Limits = limits): Limiter =>
    createSharedLimiter({
      redis: createRedisLimiter({
        run: redis.run,
        limits: by,
        prefix: PREFIX,
        nowMs: () => clock.monotonic(),
      }),
      usable: redis.usable,
      limits: by,
      tally: createBoundedTally(),
      clock,
    });
  const connect = (deadlineMs?: number): Promise<RedisConnection> =>
    connectRedis(
      new Secret(server.url),
      { keyPrefix: PREFIX, onChange: (usable) => changes.push(usable) },
      deadlineMs,
    );

  beforeAll(async () => {
    server = await startRedis();
    changes = [];
  });
  beforeEach(async () => {
    changes = [];
    connection = await connect();
    await vi.waitFor(() => expect(connection.usable()).toBe(true), SOON);
  });
  afterEach(() => connection.close());
  afterAll(() => server.kill());

  limiterContract('one process over Redis', async (by, clock) => {
    const own = await connect(ON_BUSY_MACHINE.redisMs);
    return { limiter: over(own, clock, by), close: () => own.close() };
  });

  /** An agent that asks one limiter or another. */
  const makeAgent = (vaultId = newId('vlt')) => {
    const callerId: Id<'agt'> = newId('agt');
    return async (limiter: Limiter, times: number): Promise<number> => {
      let admitted = 0;
      const traffic = 'agent_credentials' as const;
      for (let time = 0; time < times; time += 1) {
        const request = { vaultId, callerId, traffic, aggregateLimit: 600, extraCounters: [] };
        if ((await limiter.admit(request)).allowed) admitted += 1;
      }
      return admitted;
    };
  };

  const isAway = (): Promise<void> => vi.waitFor(() => expect(connection.usable()).toBe(false), SOON);
  const isBack = (): Promise<void> => vi.waitFor(() => expect(connection.usable()).toBe(true), SOON);

  test('two processes share what is counted', async () => {
    const clock = new ManualClock();
    const [one, other] = [await connect(ON_BUSY_MACHINE.redisMs), await connect(ON_BUSY_MACHINE.redisMs)];
    const [here, there] = [over(one, clock), over(other, clock)];
    const agent = makeAgent();
    expect(await agent(here, 40)).toBe(40);
    expect(await agent(there, 40)).toBe(20);
    // The violation there locks out here as well.
    expect(await agent(here, 1)).toBe(0);
    one.close();
    other.close();
  });

  test('stopped: the process goes on from what was counted, without waiting, and so it does with a Redis that is back', async () => {
    const clock = new ManualClock();
    const limiter = over(connection, clock);
    const [agent, fresh] = [makeAgent(), makeAgent()];
    expect(await agent(limiter, 40)).toBe(40);
    await server.kill();
    expect(await agent(limiter, 10)).toBe(10);
    await isAway();
    expect(limiter.take(limits.counter('key_reveal', newId('agt')), newId('vlt'))).toEqual({ allowed: true });
    expect(await agent(limiter, 100)).toBe(10);
    expect(await fresh(limiter, 100)).toBe(60);

    await server.start();
    await isBack();
    expect(await agent(limiter, 10)).toBe(0);
    clock.advance(60_000);
    expect(await agent(limiter, 100)).toBe(60);
    expect(changes).toEqual([true, false, true]);
  });

  test('paused: nobody waits for long, or at all once it is known; afterwards it is used again', async () => {
    const clock = new ManualClock();
    const limiter = over(connection, clock);
    const agent = makeAgent();
    expect(await agent(limiter, 40)).toBe(40);
    server.pause();
    try {
      expect(await agent(limiter, 30)).toBe(20);
      await isAway();
      expect(await agent(limiter, 1)).toBe(0);
    } finally {
      server.resume();
    }
    await isBack();
    expect(await agent(limiter, 1)).toBe(0);
    clock.advance(60_000);
    expect(await agent(limiter, 100)).toBe(60);
  });

  test('emptied: what this process saw counted stays counted', async () => {
    const clock = new ManualClock();
    const limiter = over(connection, clock);
    const agent = makeAgent();
    expect(await agent(limiter, 40)).toBe(40);
    const redis = new Redis(server.url);
    await redis.flushall();
    redis.disconnect();
    expect(await agent(limiter, 100)).toBe(20);
    clock.advance(60_000);
    expect(await agent(limiter, 100)).toBe(60);
  });

  test('emptied: who was locked out again and again is known at Redis from the next request on', async () => {
    const clock = new ManualClock();
    const other = await connect();
    const [here, there] = [over(connection, clock), over(other, clock)];
    const vaultId = newId('vlt');
    const agent = makeAgent(vaultId);
    for (let strike = 0; strike < 2; strike += 1) {
      expect(await agent(here, 61)).toBe(60);
      clock.advance(60_000);
    }
    const redis = new Redis(server.url);
    await redis.flushall();
    redis.disconnect();
    expect(await agent(here, 2)).toBe(2);
    expect(await agent(there, 59)).toBe(58);
    expect(await there.lockouts(vaultId)).toMatchObject([{ strikes: 3 }]);
    other.close();
  });

  type OnRedis = (redis: Redis) => Promise<unknown>;
  /** What makes a Redis useless though it runs, and what mends it. */
  const FAULTS: Record<string, readonly [spoil: OnRedis, mend: OnRedis]> = {
    'is full': [
      (redis) => redis.config('SET', 'maxmemory', '1'),
      (redis) => redis.config('SET', 'maxmemory', '0'),
    ],
    'is a replica since a failover': [
      (redis) => redis.replicaof('127.0.0.1', 1),
      (redis) => redis.replicaof('NO', 'ONE'),
    ],
    'wants a password that is not ours': [
      async (redis) => {
        await redis.config('SET', 'requirepass', 'other');
        await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      },
      (redis) => redis.config('SET', 'requirepass', ''),
    ],
  };

  test.each(Object.entries(FAULTS))(
    'a Redis that %s is as good as none, until it is mended',
    async (_, fault) => {
      const [spoil, mend] = fault;
      const redis = new Redis(server.url);
      const clock = new ManualClock();
      const limiter = over(connection, clock);
      const [agent, fresh] = [makeAgent(), makeAgent()];
      expect(await agent(limiter, 40)).toBe(40);
      await spoil(redis);
      try {
        expect(await agent(limiter, 100)).toBe(20);
        await isAway();
        expect(await fresh(limiter, 100)).toBe(60);
      } finally {
        await mend(redis);
        redis.disconnect();
      }
      await isBack();
      expect(await agent(limiter, 1)).toBe(0);
      expect(changes).toEqual([true, false, true]);
    },
  );

  test('what a process counted while Redis was away is not forgotten when Redis comes back as it was', async () => {
    const clock = new ManualClock();
    const limiter = over(connection, clock);
    const agent = makeAgent();
    await agent(limiter, 10);
    server.pause();
    await agent(limiter, 1);
    await isAway();
    expect(await agent(limiter, 39)).toBe(39);
    server.resume();
    await isBack();
    expect(await agent(limiter, 100)).toBeOneOf([9, 10]);
  });

  test('what a process counted alone, all know of with its next question', async () => {
    const clock = new ManualClock();
    const other = await connect();
    const [here, there] = [over(connection, clock), over(other, clock)];
    const agent = makeAgent();
    expect(await agent(here, 10)).toBe(10);
    server.pause();
    // Counted at once when Redis goes on, though nobody waited for the answer.
    await agent(here, 1);
    await isAway();
    expect(await agent(here, 29)).toBe(29);
    server.resume();
    await isBack();
    expect(await agent(here, 1)).toBe(1);
    // Where the connection was given up meanwhile, the one whose answer was lost is counted twice.
    expect(await agent(there, 100)).toBeOneOf([18, 19]);
    other.close();
  });

  test('who was locked out without Redis is so for all from its next request on', async () => {
    const clock = new ManualClock();
    const other = await connect();
    const [here, there] = [over(connection, clock), over(other, clock)];
    const vaultId = newId('vlt');
    const [agent, holder] = [makeAgent(vaultId), makeAgent()];
    server.pause();
    await holder(here, 1);
    await isAway();
    expect(await agent(here, 61)).toBe(60);
    const lockouts = await here.lockouts(vaultId);
    expect(lockouts).toMatchObject([{ strikes: 1, retryAfterSeconds: 60 }]);
    server.resume();
    await isBack();
    expect(await agent(here, 1)).toBe(0);
    expect(await there.lockouts(vaultId)).toEqual(lockouts);
    expect(await agent(there, 1)).toBe(0);
    clock.advance(60_000);
    expect(await agent(there, 61)).toBe(60);
    expect(await here.lockouts(vaultId)).toMatchObject([{ strikes: 2 }]);
    other.close();
  });

  test('of two lockouts of one caller, by Redis and without it, the longer one holds for all', async () => {
    const clock = new ManualClock();
    const other = await connect();
    const [here, there] = [over(connection, clock), over(other, clock)];
    const vaultId = newId('vlt');
    const [agent, holder] = [makeAgent(vaultId), makeAgent()];
    await agent(there, 1);
    clock.advance(50_000);
    server.pause();
    await holder(here, 1);
    await isAway();
    // Until 60 s from now, as Redis will never know of the window that began before.
    expect(await agent(here, 61)).toBe(60);
    server.resume();
    await isBack();
    clock.advance(1_000);
    // Until 9 s from now.
    expect(await agent(there, 60)).toBe(59);
    clock.advance(9_000);
    expect(await agent(here, 1)).toBe(0);
    expect(await agent(there, 1)).toBe(0);
    expect(await there.lockouts(vaultId)).toMatchObject([{ strikes: 1, retryAfterSeconds: 50 }]);
    clock.advance(50_000);
    expect(await agent(there, 1)).toBe(1);
    other.close();
  });

  test('a window that began without Redis goes on with it', async () => {
    const clock = new ManualClock();
    const other = await connect();
    const [here, there] = [over(connection, clock), over(other, clock)];
    const [agent, holder] = [makeAgent(), makeAgent()];
    server.pause();
    await holder(here, 1);
    await isAway();
    expect(await agent(here, 50)).toBe(50);
    server.resume();
    await isBack();
    clock.advance(40_000);
    expect(await agent(here, 1)).toBe(1);
    expect(await agent(there, 9)).toBe(9);
    clock.advance(20_000);
    expect(await agent(there, 60)).toBe(60);
    other.close();
  });

  test('a process that starts waits a moment for Redis, rather than begin at zero', async () => {
    const redis = new Redis(server.url);
    await redis.client('PAUSE', 400, 'WRITE');
    const late = await connect();
    expect(late.usable()).toBe(true);
    late.close();
    redis.disconnect();
  });

  test('counts in the database that its address names, and in no other', async () => {
    const redis = new Redis(server.url);
    const connectTo = (database: number): Promise<RedisConnection> =>
      connectRedis(new Secret(`${server.url}/${database}`), { keyPrefix: PREFIX, onChange: () => {} });
    const [third, none] = [await connectTo(3), await connectTo(99_999)];
    expect([third.usable(), none.usable()]).toEqual([true, false]);
    const agent = makeAgent();
    await agent(over(connection, new ManualClock()), 60);
    expect(await agent(over(third, new ManualClock()), 100)).toBe(60);
    await redis.select(3);
    expect(await redis.dbsize()).toBeGreaterThan(1);
    for (const one of [third, none]) one.close();
    redis.disconnect();
  });

  test('starts without Redis, and takes it when it comes', async () => {
    await server.kill();
    const lonely = await connect();
    expect(lonely.usable()).toBe(false);
    const limiter = over(lonely, new ManualClock());
    expect(await makeAgent()(limiter, 100)).toBe(60);
    await server.start();
    await vi.waitFor(() => expect(lonely.usable()).toBe(true), SOON);
    lonely.close();
  });
});
