import { newKey } from '@svault/shared';
import { expect } from 'vitest';
import { type Answer, clientOf } from '../management-service.ts';
import { MCP } from '../mcp-steps.ts';
import { introspect, postOauth, refresh } from '../oauth-steps.ts';
import { CREDENTIALS } from '../pair-agents.ts';
import { PAIR_BASE_URL, type PairSession, sessionOn } from '../pair-sessions.ts';
import { expectRefusal } from './answers.ts';
import { HANDSHAKES, posted, toolsCall } from './eras.ts';
import { expectHttpRefusal, expectLimited, expectResult, expectToolError } from './mcp-answers.ts';
import type { MCP_ROWS } from './mcp-rows.ts';
import type { McpPlay, Scene } from './mcp-scene.ts';
import type { Row } from './row.ts';

const HOUR_MS = 3_600_000;
// The path form of what the specification names: DIVERGENCES.md.
const METADATA = `${PAIR_BASE_URL}/.well-known/oauth-protected-resource/api/agents/mcp`;
const CHALLENGE = `Bearer resource_metadata="${METADATA}"`;

/** Gets the next pair. @returns the session as it is from then on */
async function refreshed({ anyone }: Scene, session: PairSession): Promise<PairSession> {
  const { status, json } = await refresh({ service: { anyone } }, session);
  expect([status, json]).toMatchObject([200, { token_type: 'Bearer', expires_in: 3_600 }]);
  return { ...session, accessToken: json.access_token, refreshToken: json.refresh_token };
}

const refusedRefresh = async ({ anyone }: Scene, session: PairSession): Promise<void> => {
  const { status, json } = await refresh({ service: { anyone } }, session);
  expect([status, json.error]).toEqual([400, 'invalid_grant']);
};

const expectChallenge = (answer: Answer, code: 'MISSING_KEY' | 'INVALID_KEY'): void => {
  expectHttpRefusal(answer, 401, code);
  const error = code === 'INVALID_KEY' ? ', error="invalid_token"' : '';
  expect(answer.headers.get('www-authenticate')).toBe(CHALLENGE + error);
};

/** "Authentication", and "OAuth session token". */
export const MCP_AUTH_PLAYS = {
  'key or session': async (scene) => {
    const agent = await scene.agent('github', 'second');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 30 };
    await scene.policy(rule, { targetType: 'agent', targetId: agent.id });
    const { accessToken } = await scene.session(agent);
    expect([agent.apiKey, accessToken]).toEqual([
      expect.stringMatching(/^svagent_/),
      expect.stringMatching(/^svsess_/),
    ]);
    const session = scene.caller(accessToken);
    for (const tool of ['whoami', 'list_credentials']) {
      const [byKey, bySession] = [await agent.mcp.call(tool), await session.call(tool)];
      expect(expectResult(bySession)).toEqual(expectResult(byKey));
    }
    // One count of a policy, whichever was shown.
    expectResult(await session.call('get_credential', { service: 'github' }));
    expectToolError(await agent.mcp.call('get_credential', { service: 'second' }), 'POLICY_DENIED', 30);
    // A grant that is revoked is so for both.
    await scene.admin('DELETE', `/api/agents/${agent.id}/grants/second`);
    for (const caller of [agent.mcp, session])
      expectToolError(await caller.call('show_credential', { service: 'second' }), 'NO_GRANT');
    // One floor: 8 so far.
    for (const caller of [agent.mcp, session]) await caller.spend(26, toolsCall('whoami'));
    expectLimited(await session.call('whoami'), 60);
    expectLimited(await agent.mcp.call('whoami'), 60);
    // As Bearer, whatever the case of that word; nothing else is a credential here.
    const { headers, body } = posted(scene.era, { method: 'tools/list' });
    const send = (more: Record<string, string>) =>
      scene.anyone('POST', MCP, { body, headers: { ...headers, ...more } });
    for (const token of [agent.apiKey, accessToken])
      expectLimited(await send({ authorization: `bearer ${token}` }), 60);
    for (const more of [
      { 'x-agent-key': agent.apiKey },
      { 'x-mcp-key': agent.apiKey },
      { authorization: agent.apiKey },
      { authorization: `Basic ${Buffer.from(`${agent.apiKey}:`).toString('base64')}` },
      { cookie: `svault=${accessToken}` },
    ])
      expectChallenge(await send(more), 'MISSING_KEY');
  },

  'OAuth flow': async (scene) => {
    const { pair, anyone } = scene;
    const agent = await scene.agent('github');
    // What it is told leads on, step by step.
    const told = await scene.caller().send(HANDSHAKES[scene.era][0]);
    expect(told.status).toBe(401);
    const [, metadataUrl = ''] =
      /resource_metadata="([^"]+)"/.exec(told.headers.get('www-authenticate') ?? '') ?? [];
    const read = async (url: string) => (await anyone('GET', url.replace(PAIR_BASE_URL, ''))).json;
    const resource = await read(metadataUrl);
    expect(resource).toMatchObject({
      resource: PAIR_BASE_URL + MCP,
      authorization_servers: [PAIR_BASE_URL],
    });
    const server = await read(`${resource.authorization_servers[0]}/.well-known/oauth-authorization-server`);
    const paths = [server.registration_endpoint, server.authorization_endpoint, server.token_endpoint];
    expect(paths).toEqual(
      ['register', 'authorize', 'token'].map((name) => `${PAIR_BASE_URL}/api/mcp-oauth/${name}`),
    );
    expect(server.code_challenge_methods_supported).toEqual(['S256']);
    // It registers, a person says yes in the browser, and it has a token.
    const { accessToken } = await sessionOn(pair, agent.id);
    expect(expectResult(await scene.caller(accessToken).call('whoami')).structured.id).toBe(agent.id);
  },

  challenge: async (scene) => {
    const { pair, era } = scene;
    const agent = await scene.agent('github');
    const session = await scene.session(agent);
    const messages = [...HANDSHAKES[era], toolsCall('whoami'), { method: 'no/such' }];
    for (const message of messages) expectChallenge(await scene.caller().send(message), 'MISSING_KEY');
    const invalid = [
      'nonsense',
      newKey('svagent'),
      newKey('svsess'),
      newKey('svadmin'),
      newKey('mcp'),
      pair.adminKey,
      session.refreshToken,
      session.code,
      `${agent.apiKey}x`,
      agent.apiKey.slice(0, -1),
      `${session.accessToken}x`,
    ];
    for (const token of invalid)
      for (const message of messages) expectChallenge(await scene.caller(token).send(message), 'INVALID_KEY');
    // A token in an address is recorded in logs, and is none.
    const { headers, body } = posted(era, toolsCall('whoami'));
    for (const name of ['key', 'access_token', 'token'])
      expectChallenge(
        await scene.anyone('POST', `${MCP}?${name}=${session.accessToken}`, { body, headers }),
        'MISSING_KEY',
      );
    // What was good once.
    await scene.admin('POST', `/api/agents/${agent.id}/rotate-key`);
    expectChallenge(await agent.mcp.call('whoami'), 'INVALID_KEY');
    scene.wait(HOUR_MS);
    expectChallenge(await scene.caller(session.accessToken).call('whoami'), 'INVALID_KEY');
  },

  'MCP enabled': async (scene) => {
    const agent = await scene.agent('github');
    const { accessToken } = await scene.session(agent);
    const callers = [agent.mcp, scene.caller(accessToken)];
    const switchMcp = (mcpEnabled: boolean) =>
      scene.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled } });
    await switchMcp(false);
    for (const caller of callers)
      for (const message of [...HANDSHAKES[scene.era], toolsCall('whoami'), toolsCall('get_credential')])
        expectHttpRefusal(await caller.send(message), 403, 'MCP_DISABLED');
    expect((await agent.ask('github')).status).toBe(307);
    await switchMcp(true);
    for (const caller of callers) expectResult(await caller.call('whoami'));
    // It is off unless somebody asked for it, and a person can switch it on while letting a client in.
    const { agent: fresh, apiKey } = (await scene.admin('POST', '/api/agents', { body: { name: 'fresh' } }))
      .json as { agent: { id: string; mcpEnabled: boolean }; apiKey: string };
    expect(fresh.mcpEnabled).toBe(false);
    expectHttpRefusal(await scene.caller(apiKey).call('whoami'), 403, 'MCP_DISABLED');
    const session = await sessionOn(scene.pair, fresh.id, { switchMcpOn: true });
    for (const token of [session.accessToken, apiKey]) expectResult(await scene.caller(token).call('whoami'));
    expect((await scene.admin('GET', `/api/agents/${fresh.id}`)).json.mcpEnabled).toBe(true);
  },

  'session: bound': async (scene) => {
    const [agent, other] = await scene.agents(2, 'github');
    await scene.grant(other!, { serviceName: 'of-the-other' });
    const { accessToken, clientId } = await scene.session(agent!);
    expect(accessToken).toMatch(/^svsess_[\w-]{43}$/);
    const caller = scene.caller(accessToken);
    expect(expectResult(await caller.call('whoami')).structured.id).toBe(agent!.id);
    expectToolError(await caller.call('show_credential', { service: 'of-the-other' }), 'NO_GRANT');
    const { json } = await introspect({ service: scene }, accessToken);
    expect(json).toMatchObject({
      active: true,
      sub: agent!.id,
      client_id: clientId,
      aud: PAIR_BASE_URL + MCP,
    });
    // To the agent, and not to its key; and at this endpoint alone.
    await scene.admin('POST', `/api/agents/${agent!.id}/rotate-key`);
    expectResult(await caller.call('whoami'));
    const rest = clientOf(scene.pair.controlPlaneUrl(), { authorization: `Bearer ${accessToken}` });
    expectRefusal(await rest('GET', CREDENTIALS), '403 INVALID_KEY');
  },

  'session: refreshed': async (scene) => {
    const agent = await scene.agent('github');
    let session = await scene.session(agent);
    for (let hours = 0; hours < 3; hours++) {
      expectResult(await scene.caller(session.accessToken).call('whoami'));
      scene.wait(HOUR_MS);
      expectHttpRefusal(await scene.caller(session.accessToken).call('whoami'), 401, 'INVALID_KEY');
      // Without a person, and each time with a new pair of the same prefixes.
      const next = await refreshed(scene, session);
      expect([next.accessToken, next.refreshToken]).toEqual([
        expect.stringMatching(/^svsess_/),
        expect.stringMatching(/^svsessr_/),
      ]);
      expect(next.accessToken).not.toBe(session.accessToken);
      session = next;
    }
    expect(expectResult(await scene.caller(session.accessToken).call('whoami')).structured.id).toBe(agent.id);
  },

  "session: the agent's status": async (scene) => {
    const [agent, gone] = await scene.agents(2, 'github');
    let session = await scene.session(agent!);
    const change = (verb: 'suspend' | 'resume') => scene.admin('POST', `/api/agents/${agent!.id}/${verb}`);
    session = await refreshed(scene, session);
    for (let times = 0; times < 2; times++) {
      await change('suspend');
      scene.wait(11_000);
      await refusedRefresh(scene, session);
      await change('resume');
      session = await refreshed(scene, session);
    }
    expectResult(await scene.caller(session.accessToken).call('whoami'));
    const ended = await scene.session(gone!);
    await scene.admin('DELETE', `/api/agents/${gone!.id}`);
    await refusedRefresh(scene, ended);
    expectHttpRefusal(await scene.caller(ended.accessToken).call('whoami'), 403, 'AGENT_INACTIVE');
    expect((await postOauth(scene, 'introspect', { token: ended.accessToken })).json).toEqual({
      active: false,
    });
  },
} as const satisfies Partial<Record<keyof typeof MCP_ROWS, McpPlay<Row>>>;
