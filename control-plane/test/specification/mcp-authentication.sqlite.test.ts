import { newKey } from '@svault/shared';
import { describe, expect } from 'vitest';
import { type Answer, clientOf } from '../support/management-service.ts';
import { ERAS, MCP } from '../support/mcp-steps.ts';
import { introspect, postOauth, refresh } from '../support/oauth-client.ts';
import { CREDENTIALS } from '../support/pair-agents.ts';
import { PAIR_BASE_URL, type PairSession, sessionOn } from '../support/pair-sessions.ts';
import { expectRefusal } from './answers.ts';
import { HANDSHAKES, posted, toolsCall } from './eras.ts';
import { expectHttpRefusal, expectLimited, expectResult, expectToolError } from './mcp-answers.ts';
import { type McpFixture, mcpTest } from './mcp-fixture.ts';

const HOUR_MS = 3_600_000;
// The path form of what the specification names: DIVERGENCES.md.
const METADATA = `${PAIR_BASE_URL}/.well-known/oauth-protected-resource/api/agents/mcp`;
const CHALLENGE = `Bearer resource_metadata="${METADATA}"`;

/** Gets the next pair. @returns the session as it is from then on */
async function refreshed({ anyone }: McpFixture, session: PairSession): Promise<PairSession> {
  const { status, json } = await refresh({ service: { anyone } }, session);
  expect([status, json]).toMatchObject([200, { token_type: 'Bearer', expires_in: 3_600 }]);
  return { ...session, accessToken: json.access_token, refreshToken: json.refresh_token };
}

const refusedRefresh = async ({ anyone }: McpFixture, session: PairSession): Promise<void> => {
  const { status, json } = await refresh({ service: { anyone } }, session);
  expect([status, json.error]).toEqual([400, 'invalid_grant']);
};

const expectChallenge = (answer: Answer, code: 'MISSING_KEY' | 'INVALID_KEY'): void => {
  expectHttpRefusal(answer, 401, code);
  const error = code === 'INVALID_KEY' ? ', error="invalid_token"' : '';
  expect(answer.headers.get('www-authenticate')).toBe(CHALLENGE + error);
};

describe.each(ERAS)('in revision %s', (era) => {
  const test = mcpTest(era);

  // spec: Either an agent key (Authorization: Bearer svagent_<key>) or an OAuth 2.1 session token (svsess_...). Both resolve to the same agent, grants and policies.
  test('an agent key and an OAuth session token resolve to the same agent, grants and policies', async ({
    fixture,
  }) => {
    const agent = await fixture.agent('github', 'second');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 30 };
    await fixture.policy(rule, { targetType: 'agent', targetId: agent.id });
    const { accessToken } = await fixture.session(agent);
    expect([agent.apiKey, accessToken]).toEqual([
      expect.stringMatching(/^svagent_/),
      expect.stringMatching(/^svsess_/),
    ]);
    const session = fixture.caller(accessToken);
    for (const tool of ['whoami', 'list_credentials']) {
      const [byKey, bySession] = [await agent.mcp.call(tool), await session.call(tool)];
      expect(expectResult(bySession)).toEqual(expectResult(byKey));
    }
    // One count of a policy, whichever was shown.
    expectResult(await session.call('get_credential', { service: 'github' }));
    expectToolError(await agent.mcp.call('get_credential', { service: 'second' }), 'POLICY_DENIED', 30);
    // A grant that is revoked is so for both.
    await fixture.admin('DELETE', `/api/agents/${agent.id}/grants/second`);
    for (const caller of [agent.mcp, session])
      expectToolError(await caller.call('show_credential', { service: 'second' }), 'NO_GRANT');
    // One floor: 8 so far.
    for (const caller of [agent.mcp, session]) await caller.spend(26, toolsCall('whoami'));
    expectLimited(await session.call('whoami'), 60);
    expectLimited(await agent.mcp.call('whoami'), 60);
    // As Bearer, whatever the case of that word; nothing else is a credential here.
    const { headers, body } = posted(fixture.era, { method: 'tools/list' });
    const send = (more: Record<string, string>) =>
      fixture.anyone('POST', MCP, { body, headers: { ...headers, ...more } });
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
  });

  // spec: OAuth 2.1 flow: the client calls the endpoint without credentials and receives a 401. It discovers the authorization server, registers itself, and obtains a session token through in-client browser consent.
  test('a client without credentials gets 401, discovers the server, registers and obtains a session by consent', async ({
    fixture,
  }) => {
    const { pair, anyone } = fixture;
    const agent = await fixture.agent('github');
    // What it is told leads on, step by step.
    const told = await fixture.caller().send(HANDSHAKES[fixture.era][0]);
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
    expect(expectResult(await fixture.caller(accessToken).call('whoami')).structured.id).toBe(agent.id);
  });

  // spec: An unauthenticated or invalid call, including initialize, receives 401 with the header WWW-Authenticate: Bearer resource_metadata=<{base_url}/.well-known/oauth-protected-resource>.
  test('a call without a valid credential is 401 with the resource metadata in WWW-Authenticate', async ({
    fixture,
  }) => {
    const { pair, era } = fixture;
    const agent = await fixture.agent('github');
    const session = await fixture.session(agent);
    const messages = [...HANDSHAKES[era], toolsCall('whoami'), { method: 'no/such' }];
    for (const message of messages) expectChallenge(await fixture.caller().send(message), 'MISSING_KEY');
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
      for (const message of messages)
        expectChallenge(await fixture.caller(token).send(message), 'INVALID_KEY');
    // A token in an address is recorded in logs, and is none.
    const { headers, body } = posted(era, toolsCall('whoami'));
    for (const name of ['key', 'access_token', 'token'])
      expectChallenge(
        await fixture.anyone('POST', `${MCP}?${name}=${session.accessToken}`, { body, headers }),
        'MISSING_KEY',
      );
    // What was good once.
    await fixture.admin('POST', `/api/agents/${agent.id}/rotate-key`);
    expectChallenge(await agent.mcp.call('whoami'), 'INVALID_KEY');
    fixture.wait(HOUR_MS);
    expectChallenge(await fixture.caller(session.accessToken).call('whoami'), 'INVALID_KEY');
  });

  // spec: The agent must have MCP enabled.
  test('an agent without MCP enabled is denied', async ({ fixture }) => {
    const agent = await fixture.agent('github');
    const { accessToken } = await fixture.session(agent);
    const callers = [agent.mcp, fixture.caller(accessToken)];
    const switchMcp = (mcpEnabled: boolean) =>
      fixture.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled } });
    await switchMcp(false);
    for (const caller of callers)
      for (const message of [...HANDSHAKES[fixture.era], toolsCall('whoami'), toolsCall('get_credential')])
        expectHttpRefusal(await caller.send(message), 403, 'MCP_DISABLED');
    expect((await agent.ask('github')).status).toBe(307);
    await switchMcp(true);
    for (const caller of callers) expectResult(await caller.call('whoami'));
    // It is off unless somebody asked for it, and a person can switch it on while letting a client in.
    const { agent: fresh, apiKey } = (await fixture.admin('POST', '/api/agents', { body: { name: 'fresh' } }))
      .json as { agent: { id: string; mcpEnabled: boolean }; apiKey: string };
    expect(fresh.mcpEnabled).toBe(false);
    expectHttpRefusal(await fixture.caller(apiKey).call('whoami'), 403, 'MCP_DISABLED');
    const session = await sessionOn(fixture.pair, fresh.id, { switchMcpOn: true });
    for (const token of [session.accessToken, apiKey])
      expectResult(await fixture.caller(token).call('whoami'));
    expect((await fixture.admin('GET', `/api/agents/${fresh.id}`)).json.mcpEnabled).toBe(true);
  });

  // spec: Prefix svsess_. It is bound to an agent
  test('an OAuth session is bound to one agent', async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2, 'github');
    await fixture.grant(other!, { serviceName: 'of-the-other' });
    const { accessToken, clientId } = await fixture.session(agent!);
    expect(accessToken).toMatch(/^svsess_[\w-]{43}$/);
    const caller = fixture.caller(accessToken);
    expect(expectResult(await caller.call('whoami')).structured.id).toBe(agent!.id);
    expectToolError(await caller.call('show_credential', { service: 'of-the-other' }), 'NO_GRANT');
    const { json } = await introspect({ service: fixture }, accessToken);
    expect(json).toMatchObject({
      active: true,
      sub: agent!.id,
      client_id: clientId,
      aud: PAIR_BASE_URL + MCP,
    });
    // To the agent, and not to its key; and at this endpoint alone.
    await fixture.admin('POST', `/api/agents/${agent!.id}/rotate-key`);
    expectResult(await caller.call('whoami'));
    const rest = clientOf(fixture.pair.controlPlaneUrl(), { authorization: `Bearer ${accessToken}` });
    expectRefusal(await rest('GET', CREDENTIALS), '403 INVALID_KEY');
  });

  // spec: and auto-refreshed.
  test('an OAuth session is refreshed by its refresh token', async ({ fixture }) => {
    const agent = await fixture.agent('github');
    let session = await fixture.session(agent);
    for (let hours = 0; hours < 3; hours++) {
      expectResult(await fixture.caller(session.accessToken).call('whoami'));
      fixture.wait(HOUR_MS);
      expectHttpRefusal(await fixture.caller(session.accessToken).call('whoami'), 401, 'INVALID_KEY');
      // Without a person, and each time with a new pair of the same prefixes.
      const next = await refreshed(fixture, session);
      expect([next.accessToken, next.refreshToken]).toEqual([
        expect.stringMatching(/^svsess_/),
        expect.stringMatching(/^svsessr_/),
      ]);
      expect(next.accessToken).not.toBe(session.accessToken);
      session = next;
    }
    expect(expectResult(await fixture.caller(session.accessToken).call('whoami')).structured.id).toBe(
      agent.id,
    );
  });

  // spec: Every refresh re-checks the agent's status.
  test('every refresh of an OAuth session checks the status of the agent', async ({ fixture }) => {
    const [agent, gone] = await fixture.agents(2, 'github');
    let session = await fixture.session(agent!);
    const change = (verb: 'suspend' | 'resume') => fixture.admin('POST', `/api/agents/${agent!.id}/${verb}`);
    session = await refreshed(fixture, session);
    for (let times = 0; times < 2; times++) {
      await change('suspend');
      fixture.wait(11_000);
      await refusedRefresh(fixture, session);
      await change('resume');
      session = await refreshed(fixture, session);
    }
    expectResult(await fixture.caller(session.accessToken).call('whoami'));
    const ended = await fixture.session(gone!);
    await fixture.admin('DELETE', `/api/agents/${gone!.id}`);
    await refusedRefresh(fixture, ended);
    expectHttpRefusal(await fixture.caller(ended.accessToken).call('whoami'), 403, 'AGENT_INACTIVE');
    expect((await postOauth(fixture, 'introspect', { token: ended.accessToken })).json).toEqual({
      active: false,
    });
  });
});
