import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Call, clientOf } from '../support/management-service.ts';
import {
  type ClientSession,
  type OauthFixture,
  approve,
  callTool,
  connect,
  eventsOf,
  exchange,
  isActive,
  newAgent,
  postOauth,
  refresh,
  errorIn,
  sessionIn,
  signInAgain,
  signedInMember,
  startOauthFixture,
} from '../support/oauth-client.ts';

const REVOKE = '/api/mcp-oauth/revoke';

let world: OauthFixture;
beforeAll(async () => {
  world = await startOauthFixture();
});
afterAll(() => world.service.stop());

const admin: Call = (method, path, options) => world.service.admin(method, path, options);
const revoke = (token: string, more: Record<string, string> = {}) =>
  postOauth(world.service, 'revoke', { token, ...more });
const isOver = async (session: ClientSession): Promise<boolean> =>
  !(await isActive(world, session)) && errorIn(await refresh(world, session)) === '400 invalid_grant';
const refreshed = async (session: ClientSession): Promise<ClientSession> =>
  sessionIn(await refresh(world, session), session);

interface ListedSession {
  readonly id: string;
  readonly kind: string;
  readonly userId: string;
  readonly agentId?: string;
}
const listed = async (call: Call = admin): Promise<readonly ListedSession[]> =>
  (await call('GET', '/api/sessions?limit=100')).json.items;
const listedOf = async ({ agentId }: ClientSession): Promise<ListedSession | undefined> =>
  (await listed()).find((session) => session.agentId === agentId);

describe('revoking', () => {
  test.each(['accessToken', 'refreshToken'] as const)(
    'revoking the %s ends the session with all its tokens at once, with its event',
    async (kind) => {
      const first = await connect(world);
      const second = await refreshed(first);
      const before = await listedOf(first);
      const answer = await revoke(second[kind]);
      expect([answer.status, answer.text, answer.headers.get('cache-control')]).toEqual([
        200,
        '{}',
        'no-store',
      ]);
      expect([await isOver(first), await isOver(second), await listedOf(first)]).toEqual([
        true,
        true,
        undefined,
      ]);
      const [event] = await eventsOf(world, first.agentId);
      expect(event).toMatchObject({
        eventType: 'OAUTH_SESSION_REVOKED',
        outcome: 'success',
        detail: { sessionId: before?.id, reason: expect.stringContaining('client') },
      });
      expect(event).not.toHaveProperty('userId');
    },
  );

  test('revoking a rotated or expired token ends the session', async () => {
    const first = await connect(world);
    const third = await refreshed(await refreshed(first));
    world.service.clock.advance(2 * 3_600_000);
    await revoke(first.accessToken);
    expect(await isOver(third)).toBe(true);
    const another = await connect(world);
    const latest = await refreshed(await refreshed(another));
    await revoke(another.refreshToken);
    expect(await isOver(latest)).toBe(true);
  });

  test('revocation ignores token_type_hint and client_id', async () => {
    for (const more of [{ token_type_hint: 'refresh_token' }, { token_type_hint: 'x', client_id: 'ocl_x' }]) {
      const session = await connect(world);
      expect((await revoke(session.accessToken, more)).status).toBe(200);
      expect(await isOver(session)).toBe(true);
    }
  });

  test('revoking twice gets the same answer, with one event', async () => {
    const session = await connect(world);
    const answers = await Promise.all(Array.from({ length: 5 }, () => revoke(session.accessToken)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 {}']));
    const events = await eventsOf(world, session.agentId);
    expect(events.filter(({ eventType }) => eventType === 'OAUTH_SESSION_REVOKED')).toHaveLength(1);
  });

  test('revoking an unknown token gets the same answer and ends nothing', async () => {
    const session = await connect(world);
    for (const token of [
      'x',
      `svsess_${'A'.repeat(43)}`,
      `svsessr_${'A'.repeat(43)}`,
      `${session.accessToken}A`,
      session.accessToken.slice(0, -1),
      session.accessToken.toUpperCase(),
      world.service.place.adminKey,
      'é'.repeat(1_000),
    ]) {
      const answer = await revoke(token);
      expect([token, answer.status, answer.text]).toEqual([token, 200, '{}']);
    }
    expect(await isActive(world, session)).toBe(true);
  });

  test('revoking ends no other session of the same agent and client', async () => {
    const agentId = await newAgent(world);
    const [one, other] = [await connect(world, agentId), await connect(world, agentId)];
    await revoke(one.accessToken);
    expect([await isOver(one), await isOver(other)]).toEqual([true, false]);
  });

  test('revocation works while the vault is locked', async () => {
    const session = await connect(world);
    await admin('POST', '/api/vault/lock');
    const answer = await revoke(session.refreshToken);
    await admin('POST', '/api/vault/unlock');
    expect([answer.status, await isOver(session)]).toEqual([200, true]);
  });

  test('revocation works for a suspended agent, whose session has ended once it is resumed', async () => {
    const session = await connect(world);
    await admin('POST', `/api/agents/${session.agentId}/suspend`);
    await revoke(session.refreshToken);
    await admin('POST', `/api/agents/${session.agentId}/resume`);
    expect(await isOver(session)).toBe(true);
  });

  test('revocation during refreshes leaves no live token', async () => {
    const session = await connect(world);
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => refresh(world, session)),
      revoke(session.accessToken),
      ...Array.from({ length: 5 }, () => refresh(world, session)),
    ]);
    for (const answer of answers.filter(({ json }) => json.access_token !== undefined))
      expect(await isOver(sessionIn(answer, session))).toBe(true);
    expect(await isOver(session)).toBe(true);
  });
});

describe('the MCP endpoint after the end of a session', () => {
  const endings: readonly [string, (session: ClientSession) => Promise<unknown>][] = [
    ['was revoked', ({ accessToken }) => revoke(accessToken)],
    [
      'was ended in the console',
      async (session) => admin('DELETE', `/api/sessions/${(await listedOf(session))?.id}`),
    ],
    [
      'ended by a used refresh token',
      async (session) => {
        await refreshed(session);
        world.service.clock.advance(11_000);
        await refresh(world, session);
      },
    ],
  ];
  test.each(endings)('the MCP endpoint answers 401 to tokens of a session that %s', async (_how, end) => {
    const session = await connect(world);
    expect((await callTool(world, session)).status).toBe(200);
    await end(session);
    const refused = await callTool(world, session);
    expect([refused.status, refused.json.code]).toEqual([401, 'INVALID_KEY']);
  });

  test('no request after the answer to a revocation passes, while others are in flight', async () => {
    const session = await connect(world);
    const call = async () => (await callTool(world, session)).status;
    const before = Array.from({ length: 8 }, call);
    await revoke(session.accessToken);
    expect(await Promise.all(Array.from({ length: 8 }, call))).toEqual(Array.from({ length: 8 }, () => 401));
    for (const status of await Promise.all(before)) expect([200, 401]).toContain(status);
  });
});

describe('a request to the revocation endpoint', () => {
  test('a revocation without a token, with two, or in another form is rejected', async () => {
    const { accessToken: token, ...session } = await connect(world);
    const { anyone } = world.service;
    for (const answer of [
      await postOauth(world.service, 'revoke', {}),
      await postOauth(world.service, 'revoke', { token: '' }),
      await postOauth(world.service, 'revoke', `token=${token}&token=${token}`),
      await anyone('POST', `${REVOKE}?token=${token}`),
      await anyone('POST', REVOKE, { body: { token } }),
    ])
      expect(errorIn(answer)).toBe('400 invalid_request');
    expect(await isActive(world, { ...session, accessToken: token })).toBe(true);
  });

  test('revocation is a POST and allows no other origin', async () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
      const answer = await world.service.anyone(method, REVOKE, { headers: { origin: 'https://a.example' } });
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST']);
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
    const answer = await postOauth(world.service, 'revoke', { token: 'x' }, { origin: 'https://a.example' });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, null]);
  });
});

describe('GET /api/sessions', () => {
  test('the list of sessions shows client, agent, expiry and approver of an OAuth session', async () => {
    const { id, cookie } = await signedInMember(world);
    const session = await connect(world, undefined, { cookie });
    expect(await listedOf(session)).toEqual({
      id: expect.stringMatching(/^ses_/),
      kind: 'oauth',
      userId: id,
      agentId: session.agentId,
      clientId: session.clientId,
      client: 'a test client',
      current: false,
      createdAt: expect.any(String),
      lastUsedAt: expect.any(String),
      expiresAt: new Date(world.service.clock.now() + 90 * 86_400_000).toISOString(),
    });
    const own = clientOf(world.service.running.url, { cookie });
    expect(new Set((await listed(own)).map(({ kind }) => kind))).toEqual(new Set(['console', 'oauth']));
    const exported = (await admin('GET', '/api/account/export')).json.sessions;
    expect(exported).toContainEqual(expect.objectContaining({ kind: 'oauth', agentId: session.agentId }));
  });

  test('the approver and an admin can end an OAuth session, with its event', async () => {
    const { id, cookie } = await signedInMember(world);
    const browser = clientOf(world.service.running.url, { cookie, origin: 'http://127.0.0.1:8080' });
    for (const ending of [browser, admin]) {
      const session = await connect(world, undefined, { cookie });
      const sessionId = (await listedOf(session))?.id;
      expect((await ending('DELETE', `/api/sessions/${sessionId}`)).status).toBe(204);
      expect(await isOver(session)).toBe(true);
      const [event] = await eventsOf(world, session.agentId);
      expect(event).toMatchObject({
        eventType: 'OAUTH_SESSION_REVOKED',
        userId: ending === browser ? id : expect.not.stringContaining(id),
        detail: { sessionId, memberId: id },
      });
    }
  });

  test('another member cannot end an OAuth session', async () => {
    const { cookie } = await signedInMember(world);
    const browser = clientOf(world.service.running.url, { cookie, origin: 'http://127.0.0.1:8080' });
    const session = await connect(world);
    const path = `/api/sessions/${(await listedOf(session))?.id}`;
    expect([(await browser('DELETE', path)).status, await isActive(world, session)]).toEqual([404, true]);
  });
});

describe('the approver of a session', () => {
  test('removing the approver ends their OAuth sessions, each with an event, and voids their codes', async () => {
    const { id, cookie } = await signedInMember(world);
    const [one, other] = [
      await connect(world, undefined, { cookie }),
      await connect(world, undefined, { cookie }),
    ];
    const waiting = await approve(world, await newAgent(world), { cookie });
    const ofOwner = await connect(world, one.agentId);
    expect((await admin('DELETE', `/api/members/${id}`)).status).toBe(204);
    expect([await isOver(one), await isOver(other), await isOver(ofOwner)]).toEqual([true, true, false]);
    const codes = 'SELECT count(*) FROM oauth_codes WHERE user_id = ?';
    expect(await world.service.place.state.value(codes, id)).toBe(0);
    expect(errorIn(await exchange(world, waiting))).toBe('400 invalid_grant');
    for (const { agentId } of [one, other]) {
      const ended = (await eventsOf(world, agentId)).filter(
        ({ eventType }) => eventType === 'OAUTH_SESSION_REVOKED',
      );
      expect(ended).toEqual([expect.objectContaining({ detail: expect.objectContaining({ memberId: id }) })]);
    }
  });

  test('another password or a sign-out of the approver ends no OAuth session', async () => {
    const { cookie } = await signedInMember(world);
    const browser = clientOf(world.service.running.url, { cookie, origin: 'http://127.0.0.1:8080' });
    const session = await connect(world, undefined, { cookie });
    const body = { newPassword: 'correct horse battery staple' };
    expect((await browser('POST', '/api/me/password', { body })).status).toBe(204);
    expect((await browser('POST', '/api/logout')).status).toBe(204);
    expect(await isOver(session)).toBe(false);
    await signInAgain(world);
  });
});
