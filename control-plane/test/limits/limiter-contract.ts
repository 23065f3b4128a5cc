import { type Id, ManualClock, newId } from '@svault/shared';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Admission, Counter, Limiter, LimiterVerdict } from '../../src/limits/limiter.ts';
import { aggregateCounter } from '../../src/limits/kernel.ts';
import { type Limits, createLimits } from '../../src/limits/limits.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What each implementation of {@link Limiter} promises. */
export function limiterContract(
  name: string,
  start: (limits: Limits, clock: ManualClock) => Limiter | Promise<Limiter>,
): void {
  describe(`${name} keeps its contract:`, () => {
    const limits = createLimits({});
    const clock = new ManualClock();
    let limiter: Limiter;
    beforeAll(async () => {
      limiter = await start(limits, clock);
    });

    /** A new account for each test. */
    const makeAccount = () => {
      const vaultId = newId('vlt');
      const caller = (callerId: Id<'agt'> | Id<'prx'> = newId('agt')) => {
        const ask = async (more: Partial<Admission> = {}): Promise<LimiterVerdict> =>
          limiter.admit({
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
      return { vaultId, caller, lockouts: async () => limiter.lockouts(vaultId) };
    };
    const denied = (scope: string, retryAfterSeconds: number, key?: string): LimiterVerdict =>
      ({ allowed: false, scope, retryAfterSeconds, ...(key !== undefined && { key }) }) as LimiterVerdict;
    const counter = (key: string, limit: number, windowMs = MINUTE): Counter => ({
      scope: 'rate_limit',
      key,
      limit,
      windowMs,
    });

    test('an agent may make 60 requests in the minute that begins with its first', async () => {
      const agent = makeAccount().caller();
      expect(await agent.times(59)).toBe(59);
      clock.advance(MINUTE - 1);
      expect(await agent.times(1)).toBe(1);
      clock.advance(1);
      expect(await agent.times(60)).toBe(60);
      expect(await agent.ask()).toEqual(denied('agent_credentials', 60));
    });

    // spec: Floor limit. Exceeding it strikes the penalty box. The resulting lockout is at least the floor window's own Retry-After (up to 60 seconds).
    test('exceeding the floor locks the caller out, at least until its window ends', async () => {
      const agent = makeAccount().caller();
      await agent.times(60);
      clock.advance(58_500);
      expect(await agent.ask()).toEqual(denied('agent_credentials', 2));
      clock.advance(SECOND);
      expect(await agent.ask()).toEqual(denied('penalty_box', 1));
      expect(await agent.ask({ traffic: 'mcp_handshake' })).toEqual(denied('penalty_box', 1));
      clock.advance(500);
      expect(await agent.times(60)).toBe(60);
    });

    // spec: Penalty box | clear | floor limit exceeded | see Limits | locked out | Lockout length doubles with each strike.
    // spec: Strike 1 locks out for 1 second, strike 2 for 2 seconds, strike 3 for 4 seconds, doubling each time. The cap is 15 minutes.
    test('each strike doubles the lockout up to 15 minutes, and requests during a lockout add no strike', async () => {
      const agent = makeAccount().caller();
      for (const lockout of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
        await agent.times(60);
        // So late that the floor's window is shorter than the lockout.
        clock.advance(MINUTE - 500);
        expect(await agent.ask()).toEqual(denied('agent_credentials', lockout));
        clock.advance(lockout * SECOND - 1);
        expect(await agent.ask()).toEqual(denied('penalty_box', 1));
        clock.advance(1);
      }
    });

    // spec: A strike decays after an hour with no further violation.
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
      // The eighth lockout lasts 128 s, which are part of the hour.
      clock.advance(HOUR - 128 * SECOND - 1);
      expect(await strike()).toBe(256);
      clock.advance(HOUR);
      expect(await strike()).toBe(256);
      clock.advance(3 * HOUR);
      expect(await strike()).toBe(64);
      clock.advance(100 * HOUR);
      expect(await strike()).toBe(60);
    });

    test('a lockout affects one caller of one account', async () => {
      const account = makeAccount();
      const [agent, other] = [account.caller(), account.caller()];
      await agent.times(61);
      expect((await other.ask()).allowed).toBe(true);
      expect((await makeAccount().caller(agent.callerId).ask()).allowed).toBe(true);
    });

    test('lockouts lists the callers that are locked out, with their strikes', async () => {
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

    test('the aggregate limits all callers of an account together, and exceeding it is no strike', async () => {
      const account = makeAccount();
      const [agent, other] = [account.caller(), account.caller()];
      expect(await agent.times(60, { aggregateLimit: 100 })).toBe(60);
      clock.advance(20 * SECOND);
      expect(await other.times(50, { aggregateLimit: 100 })).toBe(40);
      expect(await other.ask({ aggregateLimit: 100 })).toEqual(denied('user_aggregate', 40));
      expect(await account.lockouts()).toEqual([]);
      expect((await makeAccount().caller().ask({ aggregateLimit: 100 })).allowed).toBe(true);
      clock.advance(40 * SECOND);
      expect((await other.ask({ aggregateLimit: 100 })).allowed).toBe(true);
    });

    test('a request that the aggregate denies has counted against the floor', async () => {
      const agent = makeAccount().caller();
      await agent.times(60, { aggregateLimit: 10 });
      expect(await agent.ask({ aggregateLimit: 10 })).toEqual(denied('agent_credentials', 60));
    });

    test('a raised aggregate admits more requests at once', async () => {
      const agent = makeAccount().caller();
      expect(await agent.times(20, { aggregateLimit: 10 })).toBe(10);
      expect((await agent.ask({ aggregateLimit: 11 })).allowed).toBe(true);
    });

    // spec: mcp_handshake | 120 per minute per agent or proxy | initialize, tools/list, notifications/*.
    // spec: initialize, tools/list and notifications/* skip the floor, the aggregate and the strikes. They count against mcp_handshake.
    // spec: They still count against the account aggregate ceiling, with no strike.
    test('a handshake counts against its own 120 a minute and the aggregate, not the floor, and is never a strike', async () => {
      const account = makeAccount();
      const agent = account.caller();
      expect(await agent.times(120, { traffic: 'mcp_handshake' })).toBe(120);
      expect(await agent.ask({ traffic: 'mcp_handshake' })).toEqual(denied('mcp_handshake', 60));
      expect(await account.lockouts()).toEqual([]);
      expect(await agent.times(60, { aggregateLimit: 150 })).toBe(30);
      expect(await account.caller().ask({ traffic: 'mcp_handshake', aggregateLimit: 150 })).toEqual(
        denied('user_aggregate', 60),
      );
    });

    test('extra counters are checked last, count only where all have room, and are no strike', async () => {
      const agent = makeAccount().caller();
      const [two, five] = [counter('two', 2), counter('five', 5)];
      expect(await agent.times(2, { extraCounters: [five, two] })).toBe(2);
      expect(await agent.ask({ extraCounters: [five, two] })).toEqual(denied('rate_limit', 60, 'two'));
      expect(await agent.times(9, { extraCounters: [five] })).toBe(3);
      expect(await agent.ask({ extraCounters: [five, two] })).toEqual(denied('rate_limit', 60, 'five'));
      // 2 + 1 + 9 + 1: what they denied counts against the floor.
      expect(await agent.times(60 - 13)).toBe(60 - 13);
      expect(await agent.ask()).toEqual(denied('agent_credentials', 60));
    });

    // spec: Account aggregate.
    test('a denial by penalty box, floor or aggregate counts nothing after it', async () => {
      const account = makeAccount();
      const agent = account.caller();
      const once = counter('once', 1);
      await account.caller().times(10, { aggregateLimit: 10 });
      expect(await agent.ask({ aggregateLimit: 10, extraCounters: [once] })).toEqual(
        denied('user_aggregate', 60),
      );
      await agent.times(60);
      expect(await agent.ask({ extraCounters: [once] })).toEqual(denied('penalty_box', 60));
      expect((await account.caller().ask({ extraCounters: [once] })).allowed).toBe(true);
    });

    test('usage says of each counter how much is used and when it starts again, and counts nothing', async () => {
      const account = makeAccount();
      const agent = account.caller();
      const missing = limits.counter('agent_no_grant', agent.callerId);
      const usage = async () =>
        limiter.usage(
          [missing, aggregateCounter(3_000), limits.counter('key_reveal', agent.callerId)],
          account.vaultId,
        );
      const nothing = { used: 0, resetsInSeconds: 0 };
      expect(await usage()).toEqual([nothing, nothing, nothing]);
      await agent.times(3);
      clock.advance(SECOND);
      await agent.times(2, { extraCounters: [missing] });
      const used = [{ used: 2, resetsInSeconds: 60 }, { used: 5, resetsInSeconds: 59 }, nothing];
      expect(await usage()).toEqual(used);
      expect(await usage()).toEqual(used);
      expect(await limiter.usage([missing], newId('vlt'))).toEqual([nothing]);
      clock.advance(59 * SECOND);
      expect(await usage()).toEqual([{ used: 2, resetsInSeconds: 1 }, nothing, nothing]);
    });

    test('take and admit share a counter', async () => {
      const account = makeAccount();
      const agent = account.caller();
      const missing = limits.counter('agent_no_grant', agent.callerId);
      for (let use = 0; use < 5; use += 1) await limiter.take(missing, account.vaultId);
      expect(await agent.times(6, { extraCounters: [missing] })).toBe(5);
      expect(await limiter.take(missing, account.vaultId)).toEqual(
        denied('agent_no_grant', 60, agent.callerId),
      );
    });

    test.each(['key_reveal', 'account_export', 'setup_step', 'token_refresh', 'password_login'] as const)(
      '%s is limited within its own window',
      async (scope) => {
        const { limit, windowMs } = limits.of(scope);
        const key = newId('agt');
        const vaultId = scope === 'password_login' ? undefined : newId('vlt');
        const take = async (): Promise<LimiterVerdict> => limiter.take(limits.counter(scope, key), vaultId);
        for (let use = 0; use < limit; use += 1) expect(await take()).toEqual({ allowed: true });
        expect(await take()).toEqual(denied(scope, windowMs / SECOND, key));
        expect((await limiter.take(limits.counter(scope, newId('agt')), vaultId)).allowed).toBe(true);
        clock.advance(windowMs - 1);
        expect(await take()).toEqual(denied(scope, 1, key));
        clock.advance(1);
        expect((await take()).allowed).toBe(true);
      },
    );

    test('a rule keeps its count when its limit changes, and starts again when its window does', async () => {
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
    ])('a key of %s has its own counter', async (_, key) => {
      const account = makeAccount();
      const agent = account.caller();
      expect(await agent.times(3, { extraCounters: [counter(key, 2)] })).toBe(2);
      expect(await agent.times(3, { extraCounters: [counter(`${key}x`, 2)] })).toBe(2);
    });

    test('of many simultaneous requests as many are admitted as there is room for', async () => {
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
