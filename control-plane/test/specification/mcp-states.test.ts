import { describe, expect } from 'vitest';
import { ERAS } from '../support/mcp-steps.ts';
import { postOauth, refresh } from '../support/oauth-client.ts';
import { expectRefusal } from './answers.ts';
import { HANDSHAKES, toolsCall } from './eras.ts';
import { expectHttpRefusal, expectResult } from './mcp-answers.ts';
import { mcpTest } from './mcp-fixture.ts';
import { spec } from '@svault/test-kit/spec';

describe.each(ERAS)('in revision %s', (era) => {
  const test = mcpTest(era);

  test(
    'a suspended agent is denied every message, by key and by session',
    spec('Agent | active | suspend', 'Both REST and MCP are blocked.'),
    async ({ fixture }) => {
      const agent = await fixture.agent('github');
      const { accessToken } = await fixture.session(agent);
      const callers = [agent.mcp, fixture.caller(accessToken)];
      const messages = [
        ...HANDSHAKES[fixture.era],
        toolsCall('whoami'),
        toolsCall('get_credential', { service: 'github' }),
        toolsCall('get_credential', { service: 'a/b' }),
        { method: 'no/such' },
      ];
      await fixture.admin('POST', `/api/agents/${agent.id}/suspend`);
      for (const caller of callers) {
        for (const message of messages) expectHttpRefusal(await caller.send(message), 403, 'AGENT_INACTIVE');
        // Before anything is said of a body.
        expectHttpRefusal(await caller.sendRaw([]), 403, 'AGENT_INACTIVE');
      }
      expectRefusal(await agent.ask('github'), '403 AGENT_INACTIVE');
      await fixture.admin('POST', `/api/agents/${agent.id}/resume`);
      for (const caller of callers) expectResult(await caller.call('whoami'));
      expect((await agent.ask('github')).status).toBe(307);
    },
  );

  test(
    'a revoked OAuth session is denied every message at once',
    spec(
      'OAuth session | active | POST /api/mcp-oauth/revoke | none | revoked | The session is killed immediately.',
    ),
    async ({ fixture }) => {
      const agent = await fixture.agent('github');
      const [kept, ...sessions] = [
        await fixture.session(agent),
        await fixture.session(agent),
        await fixture.session(agent),
      ];
      for (const [n, session] of sessions.entries()) {
        const caller = fixture.caller(session.accessToken);
        expectResult(await caller.call('whoami'));
        const token = [session.accessToken, session.refreshToken][n]!;
        expect((await postOauth(fixture, 'revoke', { token })).status).toBe(200);
        // At once, in every use that a session has.
        for (const message of [...HANDSHAKES[fixture.era], toolsCall('whoami')])
          expectHttpRefusal(await caller.send(message), 401, 'INVALID_KEY');
        const refused = await refresh({ service: fixture }, session);
        expect([refused.status, refused.json.error]).toEqual([400, 'invalid_grant']);
        expect((await postOauth(fixture, 'introspect', { token: session.accessToken })).json).toEqual({
          active: false,
        });
      }
      // What is beside it goes on.
      for (const caller of [agent.mcp, fixture.caller(kept.accessToken)])
        expectResult(await caller.call('whoami'));
      const events = `/api/audit?agentId=${agent.id}&eventType=OAUTH_SESSION_REVOKED`;
      expect((await fixture.admin('GET', events)).json.items).toHaveLength(2);
    },
  );
});
