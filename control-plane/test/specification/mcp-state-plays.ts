import { expect } from 'vitest';
import { postOauth, refresh } from '../oauth-steps.ts';
import { expectRefusal } from './answers.ts';
import { HANDSHAKES, toolsCall } from './eras.ts';
import { expectHttpRefusal, expectResult } from './mcp-answers.ts';
import type { McpPlay } from './mcp-scene.ts';
import type { Row } from './row.ts';
import type { STATE_ROWS } from './state-rows.ts';

/** "States and transitions", as far as they are seen at the MCP endpoint. */
export const MCP_STATE_PLAYS = {
  'agent: suspend, MCP': async (scene) => {
    const agent = await scene.agent('github');
    const { accessToken } = await scene.session(agent);
    const callers = [agent.mcp, scene.caller(accessToken)];
    const messages = [
      ...HANDSHAKES[scene.era],
      toolsCall('whoami'),
      toolsCall('get_credential', { service: 'github' }),
      toolsCall('get_credential', { service: 'a/b' }),
      { method: 'no/such' },
    ];
    await scene.admin('POST', `/api/agents/${agent.id}/suspend`);
    for (const caller of callers) {
      for (const message of messages) expectHttpRefusal(await caller.send(message), 403, 'AGENT_INACTIVE');
      // Before anything is said of a body.
      expectHttpRefusal(await caller.sendRaw([]), 403, 'AGENT_INACTIVE');
    }
    expectRefusal(await agent.ask('github'), '403 AGENT_INACTIVE');
    await scene.admin('POST', `/api/agents/${agent.id}/resume`);
    for (const caller of callers) expectResult(await caller.call('whoami'));
    expect((await agent.ask('github')).status).toBe(307);
  },

  'oauth session: revoke': async (scene) => {
    const agent = await scene.agent('github');
    const [kept, ...sessions] = [
      await scene.session(agent),
      await scene.session(agent),
      await scene.session(agent),
    ];
    for (const [n, session] of sessions.entries()) {
      const caller = scene.caller(session.accessToken);
      expectResult(await caller.call('whoami'));
      const token = [session.accessToken, session.refreshToken][n]!;
      expect((await postOauth(scene, 'revoke', { token })).status).toBe(200);
      // At once, in every use that a session has.
      for (const message of [...HANDSHAKES[scene.era], toolsCall('whoami')])
        expectHttpRefusal(await caller.send(message), 401, 'INVALID_KEY');
      const refused = await refresh({ service: scene }, session);
      expect([refused.status, refused.json.error]).toEqual([400, 'invalid_grant']);
      expect((await postOauth(scene, 'introspect', { token: session.accessToken })).json).toEqual({
        active: false,
      });
    }
    // What is beside it goes on.
    for (const caller of [agent.mcp, scene.caller(kept.accessToken)])
      expectResult(await caller.call('whoami'));
    const events = `/api/audit?agentId=${agent.id}&eventType=OAUTH_SESSION_REVOKED`;
    expect((await scene.admin('GET', events)).json.items).toHaveLength(2);
  },
} as const satisfies Partial<Record<keyof typeof STATE_ROWS, McpPlay<Row>>>;
