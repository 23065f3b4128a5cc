import fc from 'fast-check';
import { Redis } from 'ioredis';
import { ManualClock, Secret, newId } from '@svault/shared';
import { NO_REDIS, REDIS_PROGRAM, type RedisServer, startRedis } from '@svault/test-kit/redis-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRedis } from '../../src/store/redis/redis.ts';
import { createBoundedTally } from '../../src/limits/bounded-tally.ts';
import { limiterContract } from '../../src/limits/limiter.contract.ts';
import { type Admission, type Counter, type Limiter, MAX_LOCKOUTS } from '../../src/limits/limiter.ts';
import { type Limits, createLimits } from '../../src/limits/limits.ts';
import { createProcessLimiter } from '../../src/limits/process-limiter.ts';
import { createRedisLimiter } from '../../src/limits/redis-limiter.ts';
import type { RedisConnection } from '../../src/limits/start-limiter.ts';

const PREFIX = 'test:';
/** What is tested is the script, on a machine that may be busy. */
const PATIENT_MS = 10_000;
const NOTHING_ASIDE = {
  tell: () => ({ uses: 0, leftMs: 0 }),
  tellBox: () => ({ strikes: 0, violatedForMs: 0, lockedForMs: 0 }),
  onLate: () => {},
};

describe.skipIf(REDIS_PROGRAM === undefined)(`limits in ${REDIS_PROGRAM ?? `Redis: ${NO_REDIS}`}`, () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedis();
    connection = await connectRedis(
      new Secret(server.url),
      { keyPrefix: PREFIX, onChange: () => {} },
      PATIENT_MS,
    );
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    connection.close();
    redis.disconnect();
    await server.kill();
  });

  /** What Redis alone says, on Redis's own clock unless there is one. */
  const limiterAt = (limits: Limits, clock?: ManualClock): Limiter => {
    const time = clock === undefined ? {} : { nowMs: () => clock.monotonic() };
    const limiter = createRedisLimiter({ run: connection.run, limits, prefix: PREFIX, ...time });
    return {
      admit: async (request) => (await limiter.admit(request, NOTHING_ASIDE)).verdict,
      take: async (counter, vaultId) => (await limiter.take(counter, vaultId, NOTHING_ASIDE)).verdict,
      lockouts: (vaultId) => limiter.lockouts(vaultId),
    };
  };

  limiterContract('Redis', (limits, clock) => ({ limiter: limiterAt(limits, clock), close: () => {} }));

  const rate = (key: string, limit = 2): Counter => ({ scope: 'rate_limit', key, limit, windowMs: 60_000 });
  const request = (more: Partial<Admission> = {}): Admission => ({
    vaultId: newId('vlt'),
    callerId: newId('agt'),
    traffic: 'agent_credentials',
    aggregateLimit: 600,
    extraCounters: [rate('a'), rate('b')],
    ...more,
  });

  test('a decision is one script: one command, whatever it counts', async () => {
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
    // The script itself is not sent again.
    expect((await received()) - bytes).toBeLessThan(1_000);
  });

  test('every key of an account is tagged by the account and goes by itself', async () => {
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

  test('a counter per address has a key of its own, and goes by itself', async () => {
    await redis.flushall();
    await limiterAt(createLimits({})).take(createLimits({}).counter('password_login', '192.0.2.1'));
    const [key = '', ...others] = await redis.keys('*');
    expect(others).toEqual([]);
    expect(await redis.pttl(key)).toBeGreaterThan(59 * 60_000);
  });

  test("without a time of the test's, windows run on Redis's clock", async () => {
    const limiter = limiterAt(createLimits({}));
    const asked = request({ extraCounters: [] });
    const [seconds] = await redis.time();
    await limiter.admit(asked);
    const value = (await redis.get(`${PREFIX}{${asked.vaultId}}:user_aggregate:60000:`)) ?? '';
    const [endsAt = 0, count] = value.split(' ').map(Number);
    expect(count).toBe(1);
    expect(Math.abs(endsAt - 60_000 - Number(seconds) * 1_000)).toBeLessThan(10_000);
  });

  test('a clock of Redis that is set back makes no wait longer than a window, nor than the longest lockout', async () => {
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

  test('of very many lockouts those are listed that last longest', async () => {
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

  test('goes on after SCRIPT FLUSH, with what was counted', async () => {
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
    ['a text of its own', (key) => redis.set(key, 'x')],
    ['bytes', (key) => redis.set(key, Buffer.from([0, 255]))],
  ])('a key that holds %s stops nobody, and is counted in', async (_, spoil) => {
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
    /** Undefined: one counter alone. */
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

  test('says what the process says, to everything that a limiter can be asked', async () => {
    const limits = createLimits({ agent_credentials: 3, proxy_mcp: 2, mcp_handshake: 2 });
    const schedules = fc.array(step, { minLength: 1, maxLength: 40 });
    const property = fc.asyncProperty(schedules, async (steps) => {
      await redis.flushall();
      const clock = new ManualClock();
      const here = createProcessLimiter({ limits, tally: createBoundedTally(), clock });
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
