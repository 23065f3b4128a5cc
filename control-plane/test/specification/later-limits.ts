import { expect } from 'vitest';
import { type Backstage, admission, hintOf, pass, somebody } from './backstage.ts';
import { type LaterRow, PROXY } from './later-row.ts';
import type { LIMIT_ROWS } from './limit-rows.ts';
import { rateOf } from './row.ts';
import { expectWindow } from './windows.ts';

const lockedOut = async ({ limiter }: Backstage, vaultId: ReturnType<typeof somebody>['vaultId']) =>
  limiter.lockouts(vaultId);

export const LATER_LIMITS = {
  proxy_mcp: {
    endpoint: PROXY,
    play: async ({ limiter, clock }, row) => {
      const asked = admission('proxy_mcp', somebody('prx'));
      await expectWindow(clock, rateOf(row), async () => hintOf(await limiter.admit(asked)));
    },
  },

  'mcp_handshake, proxy': {
    endpoint: PROXY,
    play: async ({ limiter, clock }, row) => {
      const asked = admission('mcp_handshake', somebody('prx'));
      await expectWindow(clock, rateOf(row), async () => hintOf(await limiter.admit(asked)));
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

  'handshake: batch, proxy': {
    endpoint: PROXY,
    play: async (backstage) => {
      // One admission is one unit, of one of the two kinds, however many messages stand behind it.
      const who = somebody('prx');
      await pass(backstage, 119, admission('mcp_handshake', who));
      await pass(backstage, 1, admission('mcp_handshake', who));
      await pass(backstage, 300, admission('proxy_mcp', who));
      expect(hintOf(await backstage.limiter.admit(admission('mcp_handshake', who)))).toBe(60);
      expect(hintOf(await backstage.limiter.admit(admission('proxy_mcp', who)))).toBe(60);
    },
  },
} as const satisfies Partial<Record<keyof typeof LIMIT_ROWS, LaterRow>>;
