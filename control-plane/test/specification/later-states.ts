import { expect } from 'vitest';
import { denialOf } from './backstage.ts';
import { type LaterRow, MCP } from './later-row.ts';
import type { STATE_ROWS } from './state-rows.ts';

export const LATER_STATES = {
  'agent: suspend, MCP': {
    endpoint: MCP,
    play: async (backstage) => {
      const agent = await backstage.agent('github');
      await backstage.admin('POST', `/api/agents/${agent.id}/suspend`);
      for (const services of [['github'], [], ['a/b']])
        expect(await denialOf(backstage, agent.apiKey, ...services)).toEqual({ code: 'AGENT_INACTIVE' });
    },
  },
} as const satisfies Partial<Record<keyof typeof STATE_ROWS, LaterRow>>;
