import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BASE_URL, type Call } from '../support/management-service.ts';
import {
  AUDIENCE,
  type ClientSession,
  type OauthFixture,
  callTool,
  connect,
  connectDirectly,
  introspect,
  isActive,
  postOauth,
  refresh,
  errorIn,
  sessionIn,
  startOauthFixture,
} from '../support/oauth-client.ts';

const INTROSPECT = '/api/mcp-oauth/introspect';
const MINUTE_MS = 60_000;
const INACTIVE = '{"active":false}';

let world: OauthFixture;
beforeAll(async () => {
  world = await startOauthFixture();
});
afterAll(() => world.service.stop());

const admin: Call = (method, path, options) => world.service.admin(method, path, options);
const refreshed = async (session: ClientSession): Promise<ClientSession> =>
  sessionIn(await refresh(world, session), session);

describe('a live access token', () => {
  test('a live access token is described by the claims of RFC 7662, with nothing of the account', async () => {
    const session = await connect(world);
    const now = world.service.clock.now() / 1_000;
    world.service.clock.advance(10 * MINUTE_MS);
    const answer = await introspect(world, session.accessToken);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(answer.json).toEqual({
      active: true,
      iss: BASE_URL,
      aud: AUDIENCE,
      sub: session.agentId,
      client_id: world.clientId,
      scope: 'mcp',
      token_type: 'Bearer',
      iat: now,
      exp: now + 3_600,
    });
    expect(Object.keys(answer.json)).toHaveLength(9);
  });

  test('after a refresh both access tokens are described with their own times', async () => {
    const first = await connect(world);
    world.service.clock.advance(30 * MINUTE_MS);
    const second = await refreshed(first);
    const [one, two] = [
      (await introspect(world, first.accessToken)).json,
      (await introspect(world, second.accessToken)).json,
    ];
    expect([two.iat - one.iat, two.exp - one.exp, one.exp - one.iat]).toEqual([1_800, 1_800, 3_600]);
  });

  test('introspection is a POST of a form, and ignores token_type_hint', async () => {
    const { accessToken: token } = await connect(world);
    const hinted = { token, token_type_hint: 'refresh_token' };
    expect((await postOauth(world.service, 'introspect', hinted)).json.active).toBe(true);
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
      const answer = await world.service.anyone(method, `${INTROSPECT}?token=${token}`);
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST']);
    }
    for (const answer of [
      await postOauth(world.service, 'introspect', {}),
      await postOauth(world.service, 'introspect', `token=${token}&token=${token}`),
      await world.service.anyone('POST', `${INTROSPECT}?token=${token}`),
      await world.service.anyone('POST', INTROSPECT, { body: { token } }),
    ])
      expect(errorIn(answer)).toBe('400 invalid_request');
  });

  test('introspection allows no other origin', async () => {
    const headers = { origin: 'https://elsewhere.example' };
    const answer = await postOauth(world.service, 'introspect', { token: 'x' }, headers);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, null]);
  });
});

describe('anything else is {"active":false}', () => {
  const textOf = async (token: string): Promise<string> => (await introspect(world, token)).text;

  test('a malformed token and a refresh token are not active', async () => {
    const { accessToken, refreshToken } = await connect(world);
    for (const token of [
      'x',
      refreshToken,
      `svsess_${'A'.repeat(43)}`,
      `${accessToken.slice(0, -4)}AAAA`,
      accessToken.slice(0, -1),
      `${accessToken} `,
      `Bearer ${accessToken}`,
      accessToken.toUpperCase(),
      world.service.place.adminKey,
    ])
      expect([token, await textOf(token)]).toEqual([token, INACTIVE]);
    const { apiKey } = (await admin('POST', '/api/agents', { body: { name: 'a', mcpEnabled: true } })).json;
    expect(await textOf(apiKey)).toBe(INACTIVE);
    expect(await textOf(accessToken)).not.toBe(INACTIVE);
  });

  test('an expired token is not active', async () => {
    const { accessToken } = await connect(world);
    world.service.clock.advance(60 * MINUTE_MS - 1);
    expect(await textOf(accessToken)).not.toBe(INACTIVE);
    world.service.clock.advance(1);
    expect(await textOf(accessToken)).toBe(INACTIVE);
  });

  test('a token of a suspended or deleted agent is not active', async () => {
    const { accessToken, agentId } = await connect(world);
    await admin('POST', `/api/agents/${agentId}/suspend`);
    expect(await textOf(accessToken)).toBe(INACTIVE);
    await admin('POST', `/api/agents/${agentId}/resume`);
    expect(await textOf(accessToken)).not.toBe(INACTIVE);
    await admin('DELETE', `/api/agents/${agentId}`);
    expect(await textOf(accessToken)).toBe(INACTIVE);
  });

  test('a token of a revoked session is not active', async () => {
    const { accessToken } = await connect(world);
    await postOauth(world.service, 'revoke', { token: accessToken });
    expect(await textOf(accessToken)).toBe(INACTIVE);
  });
});

describe('a token of another audience', () => {
  const UPSTREAM = 'https://upstream.example/mcp';
  const ofUpstream = (): Promise<ClientSession> =>
    connectDirectly(world, { clientId: world.clientId, audience: UPSTREAM });

  test('a token of another audience is described with that audience', async () => {
    const session = await ofUpstream();
    expect((await introspect(world, session.accessToken)).json).toMatchObject({
      active: true,
      aud: UPSTREAM,
    });
  });

  test('a token of another audience is refreshed for that audience only', async () => {
    const session = await ofUpstream();
    expect(errorIn(await refresh(world, session, { resource: AUDIENCE }))).toBe('400 invalid_target');
    const next = await refreshed(session);
    expect((await introspect(world, next.accessToken)).json.aud).toBe(UPSTREAM);
  });

  test('the MCP endpoint rejects a token of another audience', async () => {
    const [foreign, own] = [await ofUpstream(), await connect(world)];
    const refused = await callTool(world, foreign);
    expect([refused.status, refused.json.code]).toEqual([401, 'INVALID_KEY']);
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect((await callTool(world, own)).status).toBe(200);
    expect(await isActive(world, foreign)).toBe(true);
  });
});
