import type { Id } from '@svault/shared';
import { expect } from 'vitest';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { readCredentialHistory } from '../../src/audit/credential-history.ts';
import { createLimits } from '../../src/limits/limits.ts';
import type { CountedScope } from '../../src/limits/scopes.ts';
import { type Backstage, admission, decide, denialOf, hintOf, pass, somebody } from './backstage.ts';
import { type LaterRow, MCP, PROXIES, PROXY } from './later-row.ts';
import type { LIMIT_ROWS } from './limit-rows.ts';
import { rateOf } from './row.ts';
import { expectWindow } from './windows.ts';

const MINUTE_MS = 60_000;

/** A counter alone: the scope of the row, for a key that nobody used yet, and another key beside it. */
const counted =
  (scope: CountedScope): LaterRow['play'] =>
  async ({ limiter, limits, clock }, row) => {
    const [one, other] = [somebody(), somebody()].map(({ callerId }) => limits.counter(scope, callerId));
    await expectWindow(clock, rateOf(row), async () => hintOf(await limiter.take(one!)));
    for (let use = 0; use < rateOf(row).limit; use++) await limiter.take(one!);
    expect(await limiter.take(one!)).toMatchObject({ allowed: false, scope });
    expect(await limiter.take(other!)).toEqual({ allowed: true });
  };

const lockedOut = async ({ limiter }: Backstage, vaultId: ReturnType<typeof somebody>['vaultId']) =>
  limiter.lockouts(vaultId);

export const LATER_LIMITS = {
  'retry hint, MCP': {
    endpoint: MCP,
    play: async (backstage) => {
      const agent = await backstage.agent('github');
      for (let n = 0; n < 60; n++) await decide(backstage, agent.apiKey);
      backstage.wait(30_250);
      expect(await denialOf(backstage, agent.apiKey, 'github')).toMatchObject({
        code: 'RATE_LIMITED',
        retryAfterSeconds: 30,
      });
      backstage.wait(30_000);
      expect(await decide(backstage, agent.apiKey)).toMatchObject({ outcome: 'grants' });
    },
  },

  'agent_credentials, MCP': {
    endpoint: MCP,
    play: async (backstage, row) => {
      // One counter and one lockout, whichever door: both ask this one function.
      const agent = await backstage.agent('github');
      let calls = 0;
      await expectWindow(backstage.clock, rateOf(row), async () => {
        const denial = await denialOf(backstage, agent.apiKey, ...(calls++ % 2 === 0 ? [] : ['github']));
        return denial?.code === 'RATE_LIMITED' ? denial.retryAfterSeconds : undefined;
      });
    },
  },

  proxy_mcp: {
    endpoint: PROXY,
    play: async ({ limiter, clock }, row) => {
      const asked = admission('proxy_mcp', somebody('prx'));
      await expectWindow(clock, rateOf(row), async () => hintOf(await limiter.admit(asked)));
    },
  },

  token_refresh: {
    endpoint: { of: 'the refresh of tokens', method: 'POST', path: '/api/tokens/github/refresh' },
    play: counted('token_refresh'),
  },

  mcp_handshake: {
    endpoint: MCP,
    play: async ({ limiter, clock }, row) => {
      for (const kind of ['agt', 'prx'] as const) {
        const asked = admission('mcp_handshake', somebody(kind));
        await expectWindow(clock, rateOf(row), async () => hintOf(await limiter.admit(asked)));
      }
    },
  },

  'key_reveal, proxy': {
    endpoint: { ...PROXIES, method: 'POST', path: '/api/proxies/prx_AAAAAAAAAAAAAAAAAAAAAA/reveal-key' },
    play: counted('key_reveal'),
  },

  credential_history: {
    endpoint: MCP,
    play: async (backstage, row) => {
      const { clock, limiter, limits } = backstage;
      const who = somebody();
      const history = admission('agent_credentials', who, {
        further: [limits.counter('credential_history', who.callerId)],
      });
      await expectWindow(clock, rateOf(row), async () => hintOf(await limiter.admit(history)));
      // On top of agent_credentials, not instead of it: past it other calls pass, and every one was counted there.
      backstage.wait(MINUTE_MS);
      await pass(backstage, rateOf(row).limit, history);
      expect(await limiter.admit(history)).toMatchObject({ allowed: false, scope: 'credential_history' });
      expect(await lockedOut(backstage, who.vaultId)).toEqual([]);
      await pass(backstage, 60 - rateOf(row).limit - 1, admission('agent_credentials', who));
      expect(await limiter.admit(history)).toMatchObject({ allowed: false, scope: 'agent_credentials' });
    },
  },

  'credential_history, order': {
    endpoint: MCP,
    play: async ({ limiter, place }) => {
      const { limitOverrides } = controlPlaneConfig({
        ...place.env,
        SV_LIMIT_CREDENTIAL_HISTORY: '2',
      });
      const limits = createLimits(limitOverrides);
      const who = somebody();
      const further = [limits.counter('credential_history', who.callerId)];
      const verdicts = [];
      // Decided at the admission, which knows no log.
      for (let n = 0; n < 3; n++)
        verdicts.push(await limiter.admit(admission('agent_credentials', who, { further })));
      expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    },
  },

  'order: penalty box, MCP': {
    endpoint: MCP,
    play: async (backstage) => {
      const who = somebody();
      await pass(backstage, 60, admission('agent_credentials', who));
      await backstage.limiter.admit(admission('agent_credentials', who));
      for (const traffic of ['agent_credentials', 'mcp_handshake'] as const)
        expect(await backstage.limiter.admit(admission(traffic, who))).toMatchObject({
          allowed: false,
          scope: 'penalty_box',
          retryAfterSeconds: 60,
        });
    },
  },

  'order: shared by REST and MCP': {
    endpoint: MCP,
    play: async (backstage) => {
      const agent = await backstage.agent('github');
      for (let n = 0; n < 61; n++) await decide(backstage, agent.apiKey, 'github');
      for (const services of [[], ['github'], ['nothing'], ['a/b']])
        expect(await denialOf(backstage, agent.apiKey, ...services)).toMatchObject({ code: 'RATE_LIMITED' });
    },
  },

  'handshake: exempt': {
    endpoint: MCP,
    play: async (backstage) => {
      const who = somebody();
      await pass(backstage, 120, admission('mcp_handshake', who));
      for (let n = 0; n < 100; n++)
        expect(await backstage.limiter.admit(admission('mcp_handshake', who))).toMatchObject({
          scope: 'mcp_handshake',
          retryAfterSeconds: 60,
        });
      expect(await lockedOut(backstage, who.vaultId)).toEqual([]);
      await pass(backstage, 60, admission('agent_credentials', who));
    },
  },

  'handshake: aggregate': {
    endpoint: MCP,
    play: async (backstage) => {
      const { vaultId } = somebody();
      const more = { aggregateLimit: 600 };
      const callers = Array.from({ length: 6 }, () => ({ ...somebody(), vaultId }));
      for (const who of callers.slice(1)) await pass(backstage, 120, admission('mcp_handshake', who, more));
      for (const traffic of ['mcp_handshake', 'agent_credentials'] as const)
        expect(await backstage.limiter.admit(admission(traffic, callers[0], more))).toMatchObject({
          allowed: false,
          scope: 'user_aggregate',
        });
      expect(await lockedOut(backstage, vaultId)).toEqual([]);
    },
  },

  'handshake: SSE probe': {
    endpoint: { ...PROXY, method: 'GET' },
    play: async (backstage) => {
      const who = somebody('prx');
      await pass(backstage, 120, admission('mcp_handshake', who));
      await pass(backstage, 300, admission('proxy_mcp', who));
      expect(await backstage.limiter.admit(admission('proxy_mcp', who))).toMatchObject({
        scope: 'proxy_mcp',
      });
      expect(await lockedOut(backstage, who.vaultId)).toMatchObject([{ callerId: who.callerId, strikes: 1 }]);
    },
  },

  'handshake: batch': {
    endpoint: MCP,
    play: async (backstage) => {
      // One admission is one unit, of one of the two kinds, however many messages stand behind it.
      const who = somebody();
      await pass(backstage, 119, admission('mcp_handshake', who));
      await pass(backstage, 1, admission('mcp_handshake', who));
      await pass(backstage, 60, admission('agent_credentials', who));
      expect(hintOf(await backstage.limiter.admit(admission('mcp_handshake', who)))).toBe(60);
      expect(hintOf(await backstage.limiter.admit(admission('agent_credentials', who)))).toBe(60);
    },
  },

  'user_aggregate: proxies': {
    endpoint: PROXIES,
    play: async ({ limits }) => {
      // ceil(1.5 x (60 x active_agents + 300 x proxies)), not under 600 and not over 3000; worked out by hand.
      const ceilings = [
        [0, 0, 600],
        [0, 1, 600],
        [1, 1, 600],
        [2, 1, 630],
        [0, 2, 900],
        [7, 0, 630],
        [7, 2, 1_530],
        [33, 0, 2_970],
        [3, 6, 2_970],
        [0, 6, 2_700],
        [4, 6, 3_000],
        [34, 0, 3_000],
        [0, 7, 3_000],
        [100_000, 100_000, 3_000],
      ] as const;
      for (const [activeAgents, proxies, ceiling] of ceilings)
        expect([activeAgents, proxies, limits.aggregate({ activeAgents, proxies })]).toEqual([
          activeAgents,
          proxies,
          ceiling,
        ]);
    },
  },

  'other: history page': {
    endpoint: MCP,
    play: async (backstage) => {
      const { context, admin } = backstage;
      const agent = await backstage.agent('busy', 'quiet');
      const ask = async (name: string, count: number): Promise<void> => {
        for (let n = 0; n < count; n++) await decide(backstage, agent.apiKey, name);
        backstage.wait(MINUTE_MS);
      };
      await ask('quiet', 30);
      await ask('busy', 50);
      await ask('busy', 50);
      const { vaultId } = (await admin('GET', '/api/me')).json;
      const log = context.stores.audit;
      const read = async (serviceName: string, request: { limit?: number; cursor?: string } = {}) => {
        const keys = context.database.masterKeys;
        const subject = { vaultId, agentId: agent.id as Id<'agt'>, serviceName };
        const answer = await readCredentialHistory({ log, keys }, subject, request);
        return answer.valid ? answer : { history: [], nextCursor: answer.argument };
      };
      expect((await read('busy')).history).toHaveLength(20);
      expect((await read('busy', { limit: 50 })).history).toHaveLength(50);
      for (const limit of [0, 51]) expect((await read('busy', { limit })).nextCursor).toBe('limit');
      // The agent's newest 100 rows hold nothing of it; the cursor says that more is left.
      const first = await read('quiet');
      expect(first.history).toEqual([]);
      const { history } = await read('quiet', { limit: 30, cursor: first.nextCursor! });
      expect(history).toHaveLength(30);
    },
  },
} as const satisfies Partial<Record<keyof typeof LIMIT_ROWS, LaterRow>>;
