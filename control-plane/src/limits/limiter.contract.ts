import { type Id, ManualClock, newId } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Admission, Counter, Limiter, LimiterVerdict } from './limiter.ts';
import { type Limits, createLimits } from './limits.ts';

/** A limiter under test, on a clock of the test's. */
export interface LimiterUnderTest {
  readonly limiter: Limiter;
  close(): void | Promise<void>;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What every implementation of {@link Limiter} promises. */
export function limiterContract(
  name: string,
  start: (limits: Limits, clock: ManualClock) => LimiterUnderTest | Promise<LimiterUnderTest>,
): void {
  describe(`${name} keeps the limits`, () => {
    const limits = createLimits({});
    const clock = new ManualClock();
    let started: LimiterUnderTest;
    beforeAll(async () => {
      started = await start(limits, clock);
    });
    afterAll(() => started.close());

    /** An account of each test's own. */
    const makeAccount = () => {
      const vaultId = newId('vlt');
      const caller = (callerId: Id<'agt'> | Id<'prx'> = newId('agt')) => {
        const ask = async (more: Partial<Admission> = {}): Promise<LimiterVerdict> =>
          started.limiter.admit({
            vaultId,
            callerId,
            traffic: callerId.startsWith('agt') ? 'agent_credentials' : 'proxy_mcp',
            aggregateLimit: 3_000,
            extraCounters: [],
            ...more,
          });
        const times = async (count: number, more: Partial<Admission> = {}): Promise<number> => {
          let admitted = 0;
          for (let time = 0; time < count; time += 1) if ((await ask(more)).allowed) admitted += 1;
          return admitted;
        };
        return { callerId, ask, times };
      };
      return { vaultId, caller, lockouts: async () => started.limiter.lockouts(vaultId) };
    };
    const refused = (scope: string, retryAfterSeconds: number, key?: string): LimiterVerdict =>
      ({ allowed: false, scope, retryAfterSeconds, ...(key !== undefined && { key }) }) as LimiterVerdict;
    const counter = (key: string, limit: number, windowMs = MINUTE): Counter => ({
      scope: 'rate_limit',
      key,
      limit,
      windowMs,
    });

    test('the floor of an agent is 60 a minute, from the first request on', async () => {
      const agent = makeAccount().caller();
      expect(await agent.times(59)).toBe(59);
      clock.advance(MINUTE - 1);
      expect(await agent.times(1)).toBe(1);
      clock.advance(1);
      expect(await agent.times(60)).toBe(60);
      expect(await agent.ask()).toEqual(refused('agent_credentials', 60));
    });

    test('the floor of a proxy is 300 a minute', async () => {
      const proxy = makeAccount().caller(newId('prx'));
      expect(await proxy.times(300)).toBe(300);
      expect(await proxy.ask()).toEqual(refused('proxy_mcp', 60));
    });

    test('exceeding the floor locks out, at least as long as its window goes on', async () => {
      const agent = makeAccount().caller();
      await agent.times(60);
      clock.advance(58_500);
      expect(await agent.ask()).toEqual(refused('agent_credentials', 2));
      clock.advance(SECOND);
      expect(await agent.ask()).toEqual(refused('penalty_box', 1));
      expect(await agent.ask({ traffic: 'mcp_handshake' })).toEqual(refused('penalty_box', 1));
      clock.advance(500);
      expect(await agent.times(60)).toBe(60);
    });

    test('strikes double the lockout, up to 15 minutes, and what is asked meanwhile adds none', async () => {
      const agent = makeAccount().caller();
      for (const lockout of [60, 60, 60, 60, 60, 60, 64, 128, 256, 512, 900, 900]) {
        await agent.times(60);
        expect(await agent.ask()).toEqual(refused('agent_credentials', lockout));
        clock.advance(lockout * SECOND - 1);
        expect(await agent.ask()).toEqual(refused('penalty_box', 1));
        clock.advance(1);
      }
    });

    test('one strike decays with each full hour without a violation', async () => {
      const agent = makeAccount().caller();
      const strike = async (): Promise<number> => {
        await agent.times(60);
        const verdict = await agent.ask();
        return verdict.allowed ? 0 : verdict.retryAfterSeconds;
      };
      for (let strikes = 1; strikes <= 8; strikes += 1) {
        clock.advance((await strike()) * SECOND);
      }
      // The eighth locked out for 128 s, which are part of the hour.
      clock.advance(HOUR - 128 * SECOND - 1);
      expect(await strike()).toBe(256);
      clock.advance(HOUR);
      expect(await strike()).toBe(256);
      clock.advance(3 * HOUR);
      expect(await strike()).toBe(64);
      clock.advance(100 * HOUR);
      expect(await strike()).toBe(60);
    });

    test('callers of an account are locked out one by one, and one account knows nothing of another', async () => {
      const account = makeAccount();
      const [agent, other] = [account.caller(), account.caller()];
      await agent.times(61);
      expect((await other.ask()).allowed).toBe(true);
      expect((await makeAccount().caller(agent.callerId).ask()).allowed).toBe(true);
    });

    test('who is locked out can be listed, with the strikes', async () => {
      const account = makeAccount();
      const [agent, other] = [account.caller(), account.caller(newId('prx'))];
      expect(await account.lockouts()).toEqual([]);
      await agent.times(61);
      await other.times(301);
      clock.advance(30 * SECOND);
      const both = [agent, other].map(({ callerId }) => ({ callerId, strikes: 1, retryAfterSeconds: 30 }));
      expect(await account.lockouts()).toEqual(expect.arrayContaining(both));
      expect(await account.lockouts()).toHaveLength(2);
      expect(await makeAccount().lockouts()).toEqual([]);
      clock.advance(30 * SECOND);
      expect(await account.lockouts()).toEqual([]);
    });

    test('the aggregate holds for all callers of an account together, and is no strike', async () => {
      const account = makeAccount();
      const [agent, other] = [account.caller(), account.caller()];
      expect(await agent.times(60, { aggregateLimit: 100 })).toBe(60);
      clock.advance(20 * SECOND);
      expect(await other.times(50, { aggregateLimit: 100 })).toBe(40);
      expect(await other.ask({ aggregateLimit: 100 })).toEqual(refused('user_aggregate', 40));
      expect(await account.lockouts()).toEqual([]);
      expect((await makeAccount().caller().ask({ aggregateLimit: 100 })).allowed).toBe(true);
      clock.advance(40 * SECOND);
      expect((await other.ask({ aggregateLimit: 100 })).allowed).toBe(true);
    });

    test('what the aggregate refuses counts against the floor all the same, since that is asked first', async () => {
      const agent = makeAccount().caller();
      await agent.times(60, { aggregateLimit: 10 });
      expect(await agent.ask({ aggregateLimit: 10 })).toEqual(refused('agent_credentials', 60));
    });

    test('an aggregate that grows lets more through at once', async () => {
      const agent = makeAccount().caller();
      expect(await agent.times(20, { aggregateLimit: 10 })).toBe(10);
      expect((await agent.ask({ aggregateLimit: 11 })).allowed).toBe(true);
    });

    test('a handshake counts 120 a minute and against the aggregate, not against the floor, and never strikes', async () => {
      const account = makeAccount();
      const agent = account.caller();
      expect(await agent.times(120, { traffic: 'mcp_handshake' })).toBe(120);
      expect(await agent.ask({ traffic: 'mcp_handshake' })).toEqual(refused('mcp_handshake', 60));
      expect(await account.lockouts()).toEqual([]);
      expect(await agent.times(60, { aggregateLimit: 150 })).toBe(30);
      expect(await account.caller().ask({ traffic: 'mcp_handshake', aggregateLimit: 150 })).toEqual(
        refused('user_aggregate', 60),
      );
    });

    test('further counters are asked last, counted only where all have room, and no strike', async () => {
      const agent = makeAccount().caller();
      const [two, five] = [counter('two', 2), counter('five', 5)];
      expect(await agent.times(2, { extraCounters: [five, two] })).toBe(2);
      expect(await agent.ask({ extraCounters: [five, two] })).toEqual(refused('rate_limit', 60, 'two'));
      expect(await agent.times(9, { extraCounters: [five] })).toBe(3);
      expect(await agent.ask({ extraCounters: [five, two] })).toEqual(refused('rate_limit', 60, 'five'));
      // 2 + 1 + 9 + 1: what they refused counts against the floor.
      expect(await agent.times(60 - 13)).toBe(60 - 13);
      expect(await agent.ask()).toEqual(refused('agent_credentials', 60));
    });

    test('what box, floor or aggregate refuse counts nothing behind them', async () => {
      const account = makeAccount();
      const agent = account.caller();
      const once = counter('once', 1);
      await account.caller().times(10, { aggregateLimit: 10 });
      expect(await agent.ask({ aggregateLimit: 10, extraCounters: [once] })).toEqual(
        refused('user_aggregate', 60),
      );
      await agent.times(60);
      expect(await agent.ask({ extraCounters: [once] })).toEqual(refused('penalty_box', 60));
      expect((await account.caller().ask({ extraCounters: [once] })).allowed).toBe(true);
    });

    test('misses are 10 a minute, are no strike, and leave other requests alone', async () => {
      const account = makeAccount();
      const agent = account.caller();
      const extraCounters = [limits.counter('agent_no_grant', agent.callerId)];
      expect(await agent.times(12, { extraCounters })).toBe(10);
      expect(await agent.ask({ extraCounters })).toEqual(refused('agent_no_grant', 60, agent.callerId));
      expect((await agent.ask()).allowed).toBe(true);
      expect(await account.lockouts()).toEqual([]);
    });

    test('a counter taken alone is the one that a request counts as well', async () => {
      const account = makeAccount();
      const agent = account.caller();
      const misses = limits.counter('agent_no_grant', agent.callerId);
      for (let miss = 0; miss < 5; miss += 1) await started.limiter.take(misses, account.vaultId);
      expect(await agent.times(6, { extraCounters: [misses] })).toBe(5);
      expect(await started.limiter.take(misses, account.vaultId)).toEqual(
        refused('agent_no_grant', 60, agent.callerId),
      );
    });

    test.each(['key_reveal', 'account_export', 'setup_step', 'token_refresh', 'password_login'] as const)(
      '%s holds for its own window',
      async (scope) => {
        const { limit, windowMs } = limits.of(scope);
        const key = newId('agt');
        const vaultId = scope === 'password_login' ? undefined : newId('vlt');
        const take = async (): Promise<LimiterVerdict> =>
          started.limiter.take(limits.counter(scope, key), vaultId);
        for (let use = 0; use < limit; use += 1) expect(await take()).toEqual({ allowed: true });
        expect(await take()).toEqual(refused(scope, windowMs / SECOND, key));
        expect((await started.limiter.take(limits.counter(scope, newId('agt')), vaultId)).allowed).toBe(true);
        clock.advance(windowMs - 1);
        expect(await take()).toEqual(refused(scope, 1, key));
        clock.advance(1);
        expect((await take()).allowed).toBe(true);
      },
    );

    test('a rule whose window is changed counts anew, and one whose limit is changed goes on', async () => {
      const agent = makeAccount().caller();
      expect(await agent.times(3, { extraCounters: [counter('rule', 2)] })).toBe(2);
      expect(await agent.times(3, { extraCounters: [counter('rule', 3)] })).toBe(1);
      expect(await agent.times(3, { extraCounters: [counter('rule', 2, HOUR)] })).toBe(2);
    });

    test.each([
      ['spaces, colons and braces', 'a {key} : of several'],
      ['other letters', 'ключ'],
      ['20,000 characters', 'x'.repeat(20_000)],
      ['nothing', ''],
      ['a control character', '\u0000'],
    ])('a key of %s counts for itself alone', async (_, key) => {
      const account = makeAccount();
      const agent = account.caller();
      expect(await agent.times(3, { extraCounters: [counter(key, 2)] })).toBe(2);
      expect(await agent.times(3, { extraCounters: [counter(`${key}x`, 2)] })).toBe(2);
    });

    test('of many requests at the same moment those are admitted that there is room for', async () => {
      const agent = makeAccount().caller();
      const verdicts = await Promise.all(
        Array.from({ length: 200 }, () => agent.ask({ extraCounters: [counter('seven', 7)] })),
      );
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(7);
      const other = makeAccount().caller();
      const more = await Promise.all(Array.from({ length: 200 }, () => other.ask()));
      expect(more.filter(({ allowed }) => allowed)).toHaveLength(60);
    });
  });
}
