import { describe, expect, test } from 'vitest';
import { BASE_URL, type Call, clientOf } from '../support/management-service.ts';
import {
  AUDIENCE,
  type ClientSession,
  approve,
  callTool,
  connect,
  connectDirectly,
  eventsOf,
  exchange,
  introspect,
  isActive,
  newAgent,
  postOauth,
  refresh,
  refreshed,
  errorIn,
  signInAgain,
  signedInMember,
  useOauth,
} from '../support/oauth-client.ts';

const world = useOauth();

const admin: Call = (method, path, options) => world.service.admin(method, path, options);
const MINUTE_MS = 60_000;
const INACTIVE = '{"active":false}';
const revoke = (token: string, more: Record<string, string> = {}) =>
  postOauth(world.service, 'revoke', { token, ...more });
const isOver = async (session: ClientSession): Promise<boolean> =>
  !(await isActive(world, session)) && errorIn(await refresh(world, session)) === '400 invalid_grant';

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
  // spec: OAuth session | active | POST /api/mcp-oauth/revoke | none | revoked | The session is killed immediately.
  // spec: POST | /api/mcp-oauth/revoke | Revoke an OAuth session immediately.
  test.each(['accessToken', 'refreshToken'] as const)(
    'revoking the %s ends the session with all its tokens at once, with its event',
    async (kind) => {
      const first = await connect(world);
      const second = await refreshed(world, first);
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

  test('revoking a rotated or expired token ends the session, whatever its hint says', async () => {
    const first = await connect(world);
    const third = await refreshed(world, await refreshed(world, first));
    world.service.clock.advance(2 * 3_600_000);
    await revoke(first.accessToken, { token_type_hint: 'x', client_id: 'ocl_x' });
    expect(await isOver(third)).toBe(true);
    const another = await connect(world);
    const latest = await refreshed(world, await refreshed(world, another));
    await revoke(another.refreshToken);
    expect(await isOver(latest)).toBe(true);
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
        await refreshed(world, session);
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
});

describe('GET /api/sessions', () => {
  test('the list of sessions shows client, agent, expiry and approver of an OAuth session', async () => {
    const { id, cookie } = await signedInMember(world);
    const session = await connect(world, undefined, { cookie });
    expect(await listedOf(session)).toEqual({
      id: expect.stringMatching(/^ses_/),
      kind: 'oauth',
      userId: id,
      email: expect.stringMatching(/^person-\d+@example\.org$/),
      agentId: session.agentId,
      agentName: expect.stringMatching(/^an agent \d+$/),
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

  test('with agentId the list of sessions has those of MCP clients that act as the agent, and a member sees their own', async () => {
    const { cookie } = await signedInMember(world);
    const own = await connect(world, undefined, { cookie });
    const another = await connect(world);
    const idsOf = async (call: Call, { agentId }: ClientSession): Promise<readonly string[]> =>
      (await call('GET', `/api/sessions?agentId=${agentId}`)).json.items.map(
        (session: ListedSession) => session.agentId,
      );
    const member = clientOf(world.service.running.url, { cookie });
    expect(await idsOf(admin, own)).toEqual([own.agentId]);
    expect(await idsOf(admin, another)).toEqual([another.agentId]);
    expect([await idsOf(member, own), await idsOf(member, another)]).toEqual([[own.agentId], []]);
    expect((await admin('GET', '/api/sessions?agentId=x')).status).toBe(422);
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
    const second = await refreshed(world, first);
    const [one, two] = [
      (await introspect(world, first.accessToken)).json,
      (await introspect(world, second.accessToken)).json,
    ];
    expect([two.iat - one.iat, two.exp - one.exp, one.exp - one.iat]).toEqual([1_800, 1_800, 3_600]);
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
    const next = await refreshed(world, session);
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
