import { hashKey } from '@svault/shared';
import { describe, expect, test } from 'vitest';
import { oauthTokens } from '../../src/authorization-server/oauth-session.ts';
import { registerClient } from '../support/consent-page.ts';
import type { Call } from '../support/management-service.ts';
import {
  AUDIENCE,
  type ClientSession,
  REDIRECT,
  connect,
  eventTypesOf,
  eventsOf,
  introspect,
  isActive,
  refresh,
  refreshed,
  errorIn,
  sessionIn,
  signInAgain,
  signedInMember,
  useOauth,
} from '../support/oauth-client.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

const world = useOauth();

const admin: Call = (method, path, options) => world.service.admin(method, path, options);
const mayRefresh = async (session: ClientSession): Promise<boolean> =>
  (await refresh(world, session)).status === 200;

describe('a refresh', () => {
  // spec: and auto-refreshed.
  test('a refresh returns a new pair, and the previous access token stays valid until it expires', async () => {
    const first = await connect(world);
    const events = await eventTypesOf(world, first.agentId);
    world.service.clock.advance(40 * MINUTE_MS);
    const answer = await refresh(world, first);
    expect(await eventTypesOf(world, first.agentId)).toEqual(events);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(answer.json).toEqual({
      access_token: expect.stringMatching(/^svsess_[A-Za-z0-9_-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3_600,
      refresh_token: expect.stringMatching(/^svsessr_[A-Za-z0-9_-]{43}$/),
      scope: 'mcp',
    });
    const second = sessionIn(answer, first);
    expect([second.accessToken === first.accessToken, second.refreshToken === first.refreshToken]).toEqual([
      false,
      false,
    ]);
    expect([await isActive(world, first), await isActive(world, second)]).toEqual([true, true]);
    world.service.clock.advance(20 * MINUTE_MS);
    expect([await isActive(world, first), await isActive(world, second)]).toEqual([false, true]);
    world.service.clock.advance(40 * MINUTE_MS);
    expect([await isActive(world, second), await mayRefresh(second)]).toEqual([false, true]);
  });

  test('a refresh may name the resource and a scope; another resource is rejected and rotates nothing', async () => {
    const session = await connect(world);
    for (const resource of ['https://elsewhere.example', `${AUDIENCE}/more`])
      expect(errorIn(await refresh(world, session, { resource }))).toBe('400 invalid_target');
    const answer = await refresh(world, session, { resource: AUDIENCE, scope: 'everything' });
    expect([answer.status, answer.json.scope]).toEqual([200, 'mcp']);
  });

  test('a refresh of another client is rejected and rotates nothing', async () => {
    const session = await connect(world);
    const clientId = await registerClient(world.service, [REDIRECT]);
    for (const other of [clientId, 'https://client.example/metadata.json'])
      expect(errorIn(await refresh(world, session, { client_id: other }))).toBe('400 invalid_grant');
    expect(await mayRefresh(session)).toBe(true);
  });

  test('a refresh works while the vault is locked', async () => {
    const session = await connect(world);
    await admin('POST', '/api/vault/lock');
    const answer = await refresh(world, session);
    await admin('POST', '/api/vault/unlock');
    expect(answer.status).toBe(200);
  });
});

describe('a session', () => {
  test('a session expires 30 days after its last refresh', async () => {
    const [idle, busy] = [await connect(world), await connect(world)];
    world.service.clock.advance(29 * DAY_MS);
    const second = await refreshed(world, busy);
    world.service.clock.advance(DAY_MS - 1);
    const third = await refreshed(world, second);
    world.service.clock.advance(1);
    expect([errorIn(await refresh(world, idle)), await mayRefresh(third)]).toEqual([
      '400 invalid_grant',
      true,
    ]);
    // A clock set back revives no expired session.
    world.service.clock.jump(-DAY_MS);
    expect(await mayRefresh(idle)).toBe(false);
    world.service.clock.jump(DAY_MS);
    await signInAgain(world);
  });

  test('a session expires after 90 days, with its last access token', async () => {
    let session = await connect(world);
    for (let days = 0; days < 87; days += 29) {
      world.service.clock.advance(29 * DAY_MS);
      session = await refreshed(world, session);
    }
    world.service.clock.advance(3 * DAY_MS - 10 * MINUTE_MS);
    const last = await refresh(world, session);
    expect(last.json.expires_in).toBe(600);
    session = sessionIn(last, session);
    const seen = (await introspect(world, session.accessToken)).json;
    expect(seen.exp - seen.iat).toBe(600);
    world.service.clock.advance(10 * MINUTE_MS);
    expect([await isActive(world, session), await mayRefresh(session)]).toEqual([false, false]);
    await signInAgain(world);
  });
});

describe('a rotated refresh token', () => {
  test('ten concurrent refreshes within the grace period of 10 seconds get the same pair', async () => {
    const session = await connect(world);
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(world, session)));
    world.service.clock.advance(10 * SECOND_MS);
    answers.push(await refresh(world, session));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 11 }, () => 200));
    const pairs = answers.map((answer) => sessionIn(answer, session));
    expect(new Set(pairs.map(({ accessToken }) => accessToken)).size).toBe(1);
    expect(new Set(pairs.map(({ refreshToken }) => refreshToken)).size).toBe(1);
    expect(answers.map(({ json }) => json.expires_in)).toEqual([
      ...Array.from({ length: 10 }, () => 3_600),
      3_590,
    ]);
    const tokens = 'SELECT count(*) FROM oauth_access_tokens WHERE token_hash IN (?, ?)';
    const hashes = [hashKey(session.accessToken), hashKey(pairs[0]!.accessToken)];
    expect(await world.service.place.state.value(tokens, ...hashes)).toBe(2);
    expect(await isActive(world, pairs[0]!)).toBe(true);
    expect(await mayRefresh(pairs[0]!)).toBe(true);
  });

  test('reuse after the grace period ends the session, with an event that says why', async () => {
    const session = await connect(world);
    const next = await refreshed(world, session);
    world.service.clock.advance(10 * SECOND_MS + 1);
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(world, session)));
    expect(new Set(answers.map(errorIn))).toEqual(new Set(['400 invalid_grant']));
    expect([await isActive(world, session), await isActive(world, next), await mayRefresh(next)]).toEqual([
      false,
      false,
      false,
    ]);
    const [event, created] = await eventsOf(world, session.agentId);
    expect(event).toMatchObject({
      eventType: 'OAUTH_SESSION_REVOKED',
      detail: {
        ...{ sessionId: created?.detail?.['sessionId'] },
        reason: expect.stringContaining('refresh token was reused'),
      },
    });
    expect(created?.eventType).toBe('OAUTH_SESSION_CREATED');
  });

  test('reuse of an older token ends the session at once', async () => {
    const first = await connect(world);
    const third = await refreshed(world, await refreshed(world, first));
    expect(errorIn(await refresh(world, first))).toBe('400 invalid_grant');
    expect([await isActive(world, third), await mayRefresh(third)]).toEqual([false, false]);
  });

  test('reuse ends the session while its agent is suspended', async () => {
    const first = await connect(world);
    const second = await refreshed(world, first);
    await admin('POST', `/api/agents/${first.agentId}/suspend`);
    world.service.clock.advance(11 * SECOND_MS);
    await refresh(world, first);
    await admin('POST', `/api/agents/${first.agentId}/resume`);
    expect(await mayRefresh(second)).toBe(false);
  });

  test('a rotated token and the database together do not give the current pair', async () => {
    const retired = await connect(world);
    const live = await refreshed(world, retired);
    const [kept] = await world.service.place.state.rows(
      'SELECT * FROM oauth_sessions WHERE former_refresh_hash = ?',
      hashKey(retired.refreshToken),
    );
    const texts = Object.values(kept ?? {}).filter((value) => typeof value === 'string');
    expect(texts.length).toBeGreaterThan(6);
    for (const text of texts) {
      const guess = oauthTokens.rotate(retired.refreshToken, text);
      expect([guess.refreshToken === live.refreshToken, guess.accessToken === live.accessToken]).toEqual([
        false,
        false,
      ]);
    }
  });
});

test('an invalid refresh token refreshes and ends nothing', async () => {
  const session = await connect(world);
  const { refreshToken } = session;
  for (const wrong of [
    'x',
    session.accessToken,
    `svsessr_${'A'.repeat(43)}`,
    `${refreshToken}A`,
    refreshToken.slice(0, -1),
    refreshToken.toUpperCase(),
    refreshToken.replace('svsessr', 'svclir'),
    world.service.place.adminKey,
  ])
    expect([wrong, errorIn(await refresh(world, { ...session, refreshToken: wrong }))]).toEqual([
      wrong,
      '400 invalid_grant',
    ]);
  expect([await isActive(world, session), await mayRefresh(session)]).toEqual([true, true]);
});

describe('after the consent', () => {
  // spec: Every refresh re-checks the agent's status.
  test('a suspended agent gets no tokens and rotates nothing, and refreshes again once resumed', async () => {
    const session = await connect(world);
    await admin('POST', `/api/agents/${session.agentId}/suspend`);
    world.service.clock.advance(MINUTE_MS);
    expect([errorIn(await refresh(world, session)), errorIn(await refresh(world, session))]).toEqual([
      '400 invalid_grant',
      '400 invalid_grant',
    ]);
    expect(await isActive(world, session)).toBe(false);
    await admin('POST', `/api/agents/${session.agentId}/resume`);
    expect([await isActive(world, session), await mayRefresh(session)]).toEqual([true, true]);
  });

  test('rejected refreshes do not extend a session', async () => {
    const session = await connect(world);
    await admin('POST', `/api/agents/${session.agentId}/suspend`);
    world.service.clock.advance(20 * DAY_MS);
    await refresh(world, session);
    world.service.clock.advance(10 * DAY_MS);
    await admin('POST', `/api/agents/${session.agentId}/resume`);
    expect(await mayRefresh(session)).toBe(false);
    await signInAgain(world);
  });

  test('an agent suspended within the grace period gets no replay', async () => {
    const session = await connect(world);
    await refreshed(world, session);
    await admin('POST', `/api/agents/${session.agentId}/suspend`);
    expect(errorIn(await refresh(world, session))).toBe('400 invalid_grant');
  });

  test('an agent with MCP off gets no tokens until MCP is on again, and a deleted one gets none', async () => {
    const session = await connect(world);
    const path = `/api/agents/${session.agentId}`;
    await admin('PATCH', path, { body: { mcpEnabled: false } });
    expect(errorIn(await refresh(world, session))).toBe('400 invalid_grant');
    await admin('PATCH', path, { body: { mcpEnabled: true } });
    const next = await refreshed(world, session);
    await admin('DELETE', path);
    expect([await mayRefresh(next), await isActive(world, next)]).toEqual([false, false]);
  });

  test('another role of the approver does not end the session', async () => {
    const { id, cookie } = await signedInMember(world, 'admin');
    const session = await connect(world, undefined, { cookie });
    await admin('PATCH', `/api/members/${id}`, { body: { role: 'member' } });
    expect(await mayRefresh(session)).toBe(true);
  });
});
