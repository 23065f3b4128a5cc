import { type Id, ManualClock, newId } from '@svault/shared';
import type { Redis } from 'ioredis';
import { beforeEach, expect, test, vi } from 'vitest';
import { limiterContract } from './limiter-contract.ts';
import type { Limiter } from '../../src/limits/limiter.ts';
import { createLimits } from '../../src/limits/limits.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import { atRedis, describeWithRedis, limiterOver } from './redis-fixture.ts';

/** Redis is used again within 2 s of its return; a busy machine takes longer to notice. */
const SOON = { timeout: 15_000, interval: 20 };

describeWithRedis('the limiter over Redis', (redis) => {
  limiterContract('the limiter over Redis', async (by, onTime) =>
    limiterOver(await redis().connect(), by, onTime),
  );

  const limits = createLimits({});
  let clock: ManualClock;
  let connection: RedisConnection;
  let changes: boolean[];
  /** Two processes. */
  let [here, there]: Limiter[] = [];
  beforeEach(async () => {
    clock = new ManualClock();
    const seen: boolean[] = [];
    changes = seen;
    connection = await connect((usable) => seen.push(usable));
    await isBack();
    here = limiterOver(connection, limits, clock);
    there = limiterOver(await connect(), limits, clock);
  });

  /** With the control plane's own timeout. */
  const connect = (onChange: (usable: boolean) => void = () => {}): Promise<RedisConnection> =>
    redis().connect({ timeoutMs: undefined, onChange });
  const atServer = <T>(commands: (client: Redis) => Promise<T>): Promise<T> =>
    atRedis(redis().server, commands);
  const isAway = (): Promise<void> => vi.waitFor(() => expect(connection.usable()).toBe(false), SOON);
  const isBack = (): Promise<void> => vi.waitFor(() => expect(connection.usable()).toBe(true), SOON);

  /** An agent that sends requests to one process or another. @returns how many were admitted */
  const makeAgent = (vaultId = newId('vlt')) => {
    const callerId: Id<'agt'> = newId('agt');
    return async (limiter: Limiter | undefined, times: number): Promise<number> => {
      let admitted = 0;
      const traffic = 'agent_credentials' as const;
      for (let time = 0; time < times; time += 1) {
        const request = { vaultId, callerId, traffic, aggregateLimit: 600, extraCounters: [] };
        if ((await limiter?.admit(request))?.allowed === true) admitted += 1;
      }
      return admitted;
    };
  };

  /** Pauses Redis until `work` is done. @param noticing the agent whose request finds Redis away */
  const whilePaused = async (work: () => Promise<void>, noticing = makeAgent()): Promise<void> => {
    redis().server.pause();
    try {
      await noticing(here, 1);
      await isAway();
      await work();
    } finally {
      redis().server.resume();
    }
    await isBack();
  };

  test('while Redis is stopped the process goes on from its counts without waiting, and from them when Redis is back', async () => {
    const [agent, fresh] = [makeAgent(), makeAgent()];
    expect(await agent(here, 40)).toBe(40);
    await redis().server.kill();
    expect(await agent(here, 10)).toBe(10);
    await isAway();
    expect(here?.take(limits.counter('key_reveal', newId('agt')), newId('vlt'))).toEqual({ allowed: true });
    expect(await agent(here, 100)).toBe(10);
    expect(await fresh(here, 100)).toBe(60);

    await redis().server.start();
    await isBack();
    expect(await agent(here, 10)).toBe(0);
    clock.advance(60_000);
    expect(await agent(here, 100)).toBe(60);
    // A busy machine may let it wait for Redis too long again.
    expect(changes.slice(0, 3)).toEqual([true, false, true]);
  });

  test('after FLUSHALL the process still applies the counts that it has seen', async () => {
    const agent = makeAgent();
    expect(await agent(here, 40)).toBe(40);
    await atServer((client) => client.flushall());
    expect(await agent(here, 100)).toBe(20);
    clock.advance(60_000);
    expect(await agent(here, 100)).toBe(60);
  });

  test('after FLUSHALL Redis gets the strikes of a caller back with its next request', async () => {
    const vaultId = newId('vlt');
    const agent = makeAgent(vaultId);
    for (let strike = 0; strike < 2; strike += 1) {
      expect(await agent(here, 61)).toBe(60);
      clock.advance(60_000);
    }
    await atServer((client) => client.flushall());
    expect(await agent(here, 2)).toBe(2);
    expect(await agent(there, 59)).toBe(58);
    expect(await there?.lockouts(vaultId)).toMatchObject([{ strikes: 3 }]);
  });

  test.each<[string, (client: Redis) => Promise<unknown>, (client: Redis) => Promise<unknown>]>([
    [
      'is full',
      (client) => client.config('SET', 'maxmemory', '1'),
      (client) => client.config('SET', 'maxmemory', '0'),
    ],
    [
      'is a replica since a failover',
      (client) => client.replicaof('127.0.0.1', 1),
      (client) => client.replicaof('NO', 'ONE'),
    ],
  ])('a Redis that %s counts as away until it takes writes again', async (_, begin, end) => {
    const [agent, fresh] = [makeAgent(), makeAgent()];
    expect(await agent(here, 40)).toBe(40);
    await atServer(begin);
    try {
      expect(await agent(here, 100)).toBe(20);
      await isAway();
      expect(await fresh(here, 100)).toBe(60);
    } finally {
      await atServer(end);
    }
    await isBack();
    expect(await agent(here, 1)).toBe(0);
    expect(changes).toEqual([true, false, true]);
  });

  test('a process flushes what it counted without Redis with its next request', async () => {
    const agent = makeAgent();
    expect(await agent(here, 10)).toBe(10);
    // Its first request is counted as soon as Redis goes on; its reply comes late.
    await whilePaused(async () => expect(await agent(here, 29)).toBe(29), agent);
    expect(await agent(here, 1)).toBe(1);
    // Where the connection was closed meanwhile, the request with the lost reply counts twice.
    expect(await agent(there, 100)).toBeOneOf([18, 19]);
  });

  test('a lockout without Redis applies to all processes from the next request on', async () => {
    const vaultId = newId('vlt');
    const agent = makeAgent(vaultId);
    let lockouts: unknown;
    await whilePaused(async () => {
      expect(await agent(here, 61)).toBe(60);
      lockouts = await here?.lockouts(vaultId);
      expect(lockouts).toMatchObject([{ strikes: 1, retryAfterSeconds: 60 }]);
    });
    expect(await agent(here, 1)).toBe(0);
    expect(await there?.lockouts(vaultId)).toEqual(lockouts);
    expect(await agent(there, 1)).toBe(0);
    clock.advance(60_000);
    expect(await agent(there, 61)).toBe(60);
    expect(await here?.lockouts(vaultId)).toMatchObject([{ strikes: 2 }]);
  });

  test('of two lockouts of one caller, at Redis and without it, the longer one applies to all', async () => {
    const vaultId = newId('vlt');
    const agent = makeAgent(vaultId);
    await agent(there, 1);
    clock.advance(50_000);
    // Ends 60 s from now: this process does not know the window that began at Redis.
    await whilePaused(async () => expect(await agent(here, 61)).toBe(60));
    clock.advance(1_000);
    // Ends 9 s from now.
    expect(await agent(there, 60)).toBe(59);
    clock.advance(9_000);
    expect(await agent(here, 1)).toBe(0);
    expect(await agent(there, 1)).toBe(0);
    expect(await there?.lockouts(vaultId)).toMatchObject([{ strikes: 1, retryAfterSeconds: 50 }]);
    clock.advance(50_000);
    expect(await agent(there, 1)).toBe(1);
  });

  test('a later strike without Redis does not shorten a lockout at Redis', async () => {
    const vaultId = newId('vlt');
    const agent = makeAgent(vaultId);
    await whilePaused(async () => expect(await agent(here, 50)).toBe(50));
    clock.advance(30_000);
    // Ends 60 s from now.
    expect(await agent(there, 61)).toBe(60);
    clock.advance(1_000);
    // Ends with this process's window, 29 s from now.
    await whilePaused(async () => expect(await agent(here, 11)).toBe(10));
    expect(await agent(here, 1)).toBe(0);
    expect(await here?.lockouts(vaultId)).toMatchObject([{ retryAfterSeconds: 59 }]);
  });

  test('a window that began without Redis continues with it', async () => {
    const agent = makeAgent();
    await whilePaused(async () => expect(await agent(here, 50)).toBe(50));
    clock.advance(40_000);
    expect(await agent(here, 1)).toBe(1);
    expect(await agent(there, 9)).toBe(9);
    clock.advance(20_000);
    expect(await agent(there, 60)).toBe(60);
  });

  test('a process that starts waits a moment for Redis instead of starting at zero', async () => {
    await atServer((client) => client.client('PAUSE', 400, 'WRITE'));
    expect((await connect()).usable()).toBe(true);
  });

  test('a process counts in the database that its address names, and in no other', async () => {
    const [third, none] = [
      await redis().connect({ database: 3 }),
      await redis().connect({ database: 99_999 }),
    ];
    expect([third.usable(), none.usable()]).toEqual([true, false]);
    const agent = makeAgent();
    await agent(here, 60);
    expect(await agent(limiterOver(third, limits, clock), 100)).toBe(60);
    const entries = await atServer(async (client) => {
      await client.select(3);
      return client.dbsize();
    });
    expect(entries).toBeGreaterThan(1);
  });

  test('a process that starts without Redis uses it as soon as it comes', async () => {
    await redis().server.kill();
    connection = await connect();
    expect(connection.usable()).toBe(false);
    expect(await makeAgent()(limiterOver(connection, limits, clock), 100)).toBe(60);
    await redis().server.start();
    await isBack();
  });
});
