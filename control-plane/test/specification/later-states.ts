import { expect } from 'vitest';
import { ownerLinkToken } from '../owner-link.ts';
import { denialOf } from './backstage.ts';
import { type LaterRow, MCP, oauth } from './later-row.ts';
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

  'oauth session: revoke': {
    endpoint: oauth('revoke'),
    play: async ({ admin, anyone, clock, place }) => {
      // Sessions of OAuth clients will be kept where the console's are: a session that is ended is over at once.
      const token = await ownerLinkToken(place.env, clock);
      const signedIn = await anyone('POST', '/api/login/link', { body: { token } });
      const headers = { cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '' };
      expect((await anyone('GET', '/api/me', { headers })).status).toBe(200);
      const [session] = (await admin('GET', '/api/sessions')).json.items;
      await admin('DELETE', `/api/sessions/${session.id}`);
      expect((await anyone('GET', '/api/me', { headers })).status).toBe(401);
    },
  },
} as const satisfies Partial<Record<keyof typeof STATE_ROWS, LaterRow>>;
