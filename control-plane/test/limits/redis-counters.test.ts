import { ManualClock, newId } from '@svault/shared';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProcessCounterStore, createCounterStore } from '../../src/limits/counter-store.ts';
import { type Admission, type Counter, type Limiter, MAX_LOCKOUTS } from '../../src/limits/limiter.ts';
import { ownedBy } from '../../src/limits/kernel.ts';
import { type Limits, createLimits } from '../../src/limits/limits.ts';
import { createProcessLimiter } from '../../src/limits/process-limiter.ts';
import { createRedisCounters } from '../../src/limits/redis-counters.ts';
import { createRedisLimiter } from '../../src/limits/redis-limiter.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';
import { PREFIX, describeWithRedis } from './redis-fixture.ts';

/** Holds nothing, so that Redis alone decides. */
const NO_STORE: ProcessCounterStore = {
  window: () => undefined,
  setWindow: () => {},
  box: () => undefined,
  setBox: () => {},
  boxesOf: () => [],
  evictExpired: () => {},
  size: 0,
};

describeWithRedis('the scripts', (fixture) => {
  let connection: RedisConnection;
  let redis: Redis;
  beforeAll(async () => {
    connection = await fixture().connect();
    redis = new Redis(fixture().server.url);
  });
  afterAll(() => redis.disconnect());

  /** Redis alone, on its own clock where there is none given. */
  const limiterAt = (limits: Limits, clock = new ManualClock(), ownClock = false): Limiter => {
    const nowMs = ownClock ? undefined : () => clock.monotonic();
    const counters = createRedisCounters({ run: connection.run, prefix: PREFIX, nowMs });
    return createRedisLimiter({ redis: counters, usable: () => true, limits, store: NO_STORE, clock });
  };

  const rate = (key: string, limit = 2): Counter => ({ scope: 'rate_limit', key, limit, windowMs: 60_000 });
  const request = (more: Partial<Admission> = {}): Admission => ({
    vaultId: newId('vlt'),
    callerId: newId('agt'),
    traffic: 'agent_credentials',
    aggregateLimit: 600,
    extraCounters: [rate('a'), rate('b')],
    ...more,
  });

  test('a decision takes one command, however many counters it has', async () => {
    const limiter = limiterAt(createLimits({}));
    const asked = request();
    await limiter.admit(asked);
    const commands = async (): Promise<number> =>
      [...(await redis.info('commandstats')).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
        (sum, [, calls]) => sum + Number(calls),
        0,
      );
    const received = async (): Promise<number> =>
      Number(/total_net_input_bytes:(\d+)/.exec(await redis.info('stats'))?.[1]);
    const [before, bytes] = [await commands(), await received()];
    await limiter.admit(asked);
    expect(await commands()).toBe(before + 1);
    // The script is not sent again.
    expect((await received()) - bytes).toBeLessThan(1_000);
  });

  test('each key of an account has its hash tag and expires', async () => {
    await redis.flushall();
    const limiter = limiterAt(createLimits({ agent_credentials: 1 }));
    const asked = request();
    await limiter.admit(asked);
    await limiter.admit(asked);
    await limiter.admit({ ...asked, traffic: 'mcp_handshake' });
    await limiter.take(rate('alone'), asked.vaultId);
    const keys = await redis.keys('*');
    expect(keys.length).toBeGreaterThanOrEqual(6);
    for (const key of keys) {
      expect(key.startsWith(`${PREFIX}{${asked.vaultId}}:`)).toBe(true);
      const [ttl, longest] = [await redis.pttl(key), 60 * 60_000];
      expect([key, ttl > 0 && ttl <= longest]).toEqual([key, true]);
    }
  });

  test('a counter per address is one key, which expires', async () => {
    await redis.flushall();
    await limiterAt(createLimits({})).take(createLimits({}).counter('password_login', '192.0.2.1'));
    const [key = '', ...others] = await redis.keys('*');
    expect(others).toEqual([]);
    expect(await redis.pttl(key)).toBeGreaterThan(59 * 60_000);
  });

  test('the strikes of a caller expire after an hour each', async () => {
    await redis.flushall();
    const clock = new ManualClock();
    const limiter = limiterAt(createLimits({ agent_credentials: 1 }), clock);
    const asked = request({ extraCounters: [] });
    for (let strike = 0; strike < 2; strike += 1) {
      await limiter.admit(asked);
      await limiter.admit(asked);
      clock.advance(60_000);
    }
    const expiries = await Promise.all((await redis.keys('*')).map((key) => redis.pttl(key)));
    expect(Math.max(...expiries)).toBeGreaterThan(119 * 60_000);
  });

  test("windows run on Redis's clock", async () => {
    const limiter = limiterAt(createLimits({}), undefined, true);
    const asked = request({ extraCounters: [] });
    const [seconds] = await redis.time();
    await limiter.admit(asked);
    const value = (await redis.get(`${PREFIX}{${asked.vaultId}}:user_aggregate:60000:`)) ?? '';
    const [endsAt = 0, count] = value.split(' ').map(Number);
    expect(count).toBe(1);
    expect(Math.abs(endsAt - 60_000 - Number(seconds) * 1_000)).toBeLessThan(10_000);
  });

  test('when the clock of Redis is set back, no wait is longer than the window or the longest lockout', async () => {
    const ahead = new ManualClock();
    ahead.advance(10 * 60 * 60_000);
    const limits = createLimits({ agent_credentials: 1 });
    const asked = request({ extraCounters: [] });
    await limiterAt(limits, ahead).admit(asked);
    await limiterAt(limits, ahead).admit(asked);
    const other = request({ extraCounters: [rate('c', 1)] });
    await limiterAt(limits, ahead).admit(other);

    const clock = new ManualClock();
    const back = limiterAt(limits, clock);
    expect(await back.admit(asked)).toMatchObject({ scope: 'penalty_box', retryAfterSeconds: 900 });
    expect(await back.take(rate('c', 1), other.vaultId)).toMatchObject({ retryAfterSeconds: 60 });
    clock.advance(59_000);
    expect(await back.take(rate('c', 1), other.vaultId)).toMatchObject({ retryAfterSeconds: 1 });
    clock.advance(1_000);
    expect(await back.take(rate('c', 1), other.vaultId)).toEqual({ allowed: true });
    clock.advance(840_000);
    expect(await back.admit(asked)).toEqual({ allowed: true });
  });

  test.each([
    ['nothing', [9, 9, 9, 9], [1, 1, 1, 1]],
    ['the floor', [0, 9, 9, 9], [0, 0, 0, 0]],
    ['the aggregate', [9, 0, 9, 9], [1, 0, 0, 0]],
    ['the first of two extra counters', [9, 9, 0, 9], [1, 1, 0, 0]],
    ['the second of two extra counters', [9, 9, 9, 0], [1, 1, 0, 0]],
  ])('a reply says what its request has added where %s is full', async (_full, limits, added) => {
    const { vaultId, callerId, ...asked } = request();
    const counters = limits.map((limit, index) => {
      const counter = ownedBy(vaultId, { ...rate(`counter ${index}`), limit });
      return { counter, increments: 0, leftMs: 0 };
    });
    const counted = createRedisCounters({ run: connection.run, prefix: PREFIX });
    const box = { strikes: 0, violatedForMs: 0, lockedForMs: 0 };
    const ask = { vaultId, callerId, ...asked, traffic: 'mcp_handshake' } as const;
    const { windows } = await counted.admit(ask, counters, box, () => undefined);
    expect(windows.map((each) => each.added)).toEqual(added);
    const stored = counters.map(({ counter }) => redis.get(`${PREFIX}{${vaultId}}:${counter.name}`));
    const counts = (await Promise.all(stored)).map((value) => Number(value?.split(' ')[1] ?? 0));
    expect([counts, windows.map(({ count }) => count)]).toEqual([added, added]);
  });

  test('lockouts lists the longest ones where there are too many', async () => {
    const clock = new ManualClock();
    const limiter = limiterAt(createLimits({ agent_credentials: 1 }), clock);
    const { vaultId } = request();
    const lockOut = async (): Promise<string> => {
      const asked = request({ vaultId, extraCounters: [] });
      await limiter.admit(asked);
      clock.advance(1);
      await limiter.admit(asked);
      return asked.callerId;
    };
    const callers: string[] = [];
    for (let count = 0; count < MAX_LOCKOUTS + 2; count += 1) callers.push(await lockOut());
    const listed = (await limiter.lockouts(vaultId)).map(({ callerId }) => callerId);
    expect(listed).toEqual(callers.slice(2).toReversed());
  });

  test('counts survive SCRIPT FLUSH', async () => {
    const limiter = limiterAt(createLimits({ agent_credentials: 1 }));
    const asked = request();
    expect((await limiter.admit(asked)).allowed).toBe(true);
    await redis.script('FLUSH');
    expect((await limiter.admit(asked)).allowed).toBe(false);
    expect(connection.usable()).toBe(true);
  });

  test.each<[string, (key: string) => Promise<unknown>]>([
    ['a list', (key) => redis.lpush(key, 'x')],
    ['a sorted set', (key) => redis.zadd(key, 1, 'x')],
    ['a hash', (key) => redis.hset(key, 'x', 'y')],
    ['another text', (key) => redis.set(key, 'x')],
    ['bytes', (key) => redis.set(key, Buffer.from([0, 255]))],
  ])('a key that holds %s counts as absent and is overwritten', async (_, spoil) => {
    await redis.flushall();
    const limiter = limiterAt(createLimits({ agent_credentials: 1 }));
    const asked = request();
    const { scope, ...lonely } = createLimits({}).counter('password_login', '192.0.2.1');
    const useAll = async (): Promise<unknown[]> => [
      (await limiter.admit(asked)).allowed,
      (await limiter.admit(asked)).allowed,
      (await limiter.lockouts(asked.vaultId)).length,
      (await limiter.take({ scope, ...lonely, limit: 1 })).allowed,
      (await limiter.take({ scope, ...lonely, limit: 1 })).allowed,
    ];
    const outcome = [true, false, 1, true, false];
    expect(await useAll()).toEqual(outcome);
    const keys = await redis.keys('*');
    expect(keys.length).toBeGreaterThanOrEqual(6);
    for (const key of keys) {
      await redis.del(key);
      await spoil(key);
      await limiter.lockouts(asked.vaultId);
    }
    expect(await limiter.lockouts(asked.vaultId)).toEqual([]);
    expect(await useAll()).toEqual(outcome);
    for (const key of keys) expect([key, (await redis.pttl(key)) > 0]).toEqual([key, true]);
    expect(connection.usable()).toBe(true);
  });

  const counter = fc.record({
    key: fc.constantFrom('x', 'y', 'z'),
    limit: fc.integer({ min: 1, max: 3 }),
    windowMs: fc.constantFrom(1_000, 60_000, 86_400_000),
    scope: fc.constantFrom('rate_limit', 'agent_no_grant', 'key_reveal', 'password_login'),
  }) as fc.Arbitrary<Counter>;
  const step = fc.record({
    waitMs: fc.oneof(fc.constant(0), fc.constantFrom(1, 999, 1_000, 60_000, 3_600_000), fc.nat(120_000)),
    /** Undefined: `take` of each counter. */
    traffic: fc.constantFrom(
      'agent_credentials',
      'agent_credentials',
      'proxy_mcp',
      'mcp_handshake',
      undefined,
    ),
    caller: fc.nat(1),
    aggregateLimit: fc.constantFrom(4, 9),
    extraCounters: fc.uniqueArray(counter, {
      maxLength: 3,
      selector: ({ scope, key, windowMs }) => scope + key + windowMs,
    }),
  });

  test('the scripts decide each request as the process limiter does', async () => {
    const limits = createLimits({ agent_credentials: 3, proxy_mcp: 2, mcp_handshake: 2 });
    const schedules = fc.array(step, { minLength: 1, maxLength: 40 });
    const property = fc.asyncProperty(schedules, async (steps) => {
      await redis.flushall();
      const clock = new ManualClock();
      const here = createProcessLimiter({ limits, store: createCounterStore(), clock });
      const there = limiterAt(limits, clock);
      const vaultId = newId('vlt');
      const callers = [newId('agt'), newId('prx')] as const;
      for (const { waitMs, traffic, caller, aggregateLimit, extraCounters } of steps) {
        clock.advance(waitMs);
        const callerId = callers[caller]!;
        const ask = async (limiter: Limiter): Promise<unknown> =>
          traffic === undefined
            ? Promise.all(extraCounters.map(async (one) => limiter.take(one, vaultId)))
            : limiter.admit({ vaultId, callerId, traffic, aggregateLimit, extraCounters });
        expect(await ask(there)).toEqual(await ask(here));
        const byCaller = async (limiter: Limiter): Promise<unknown> =>
          (await limiter.lockouts(vaultId)).toSorted((a, b) => a.callerId.localeCompare(b.callerId));
        expect(await byCaller(there)).toEqual(await byCaller(here));
      }
    });
    await fc.assert(property, { numRuns: 60 });
  });
});
