import type { Id } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { type UpstreamSessions, createUpstreamSessions } from '../../src/forwarding/upstream-session.ts';
import { openBeside } from '../support/beside-the-service.ts';
import { type Answer, type ManagementService, startService } from '../support/management-service.ts';
import { WIDE_LIMITS, postOauth } from '../support/oauth-client.ts';
import { addMember } from '../support/members.ts';
import { type LoggedEvent, stepsOn } from '../support/service-steps.ts';
import type { SessionProxy } from '../../src/access/decision.ts';
import { uniqueName } from '../support/unique-name.ts';

// Sessions of proxies at upstreams that introspect tokens of this service.

const UPSTREAM = 'https://mcp.example.com/mcp';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Two thirds of a token's lifetime. */
const USED_FOR_MS = (2 / 3) * HOUR_MS;

let service: ManagementService;
let database: Database;
let vaultId: Id<'vlt'>;
/** Upstream sessions of two processes on the service's database. */
let sessions: UpstreamSessions;
let others: UpstreamSessions;
beforeAll(async () => {
  service = await startService(WIDE_LIMITS);
  database = await openBeside(service);
  vaultId = (await service.admin('GET', '/api/me')).json.vaultId;
  [sessions, others] = [aProcess(), aProcess()];
});
afterAll(async () => {
  await database.close();
  await service.stop();
});

const aProcess = (): UpstreamSessions => {
  const { stores, unitOfWork } = database;
  return createUpstreamSessions({ stores, unitOfWork, clock: service.clock });
};
const newAgent = async (): Promise<Id<'agt'>> =>
  (await service.admin('POST', '/api/agents', { body: { name: uniqueName('a'), mcpEnabled: true } })).json
    .agent.id;
const newProxy = async (more: object = {}): Promise<SessionProxy> => {
  const body = {
    name: uniqueName('ours'),
    upstreamUrl: UPSTREAM,
    upstreamAuthType: 'sv_session',
    agentId: await newAgent(),
    ...more,
  };
  const { proxy } = (await service.admin('POST', '/api/proxies', { body })).json;
  return { vaultId, proxyId: proxy.id, agentId: proxy.agentId, upstreamUrl: proxy.upstreamUrl };
};
const tokenFor = async (proxy: SessionProxy, from = sessions): Promise<string> =>
  (await from.tokenFor(proxy)).reveal();
const introspect = async (token: string): Promise<Answer['json']> =>
  (await postOauth(service, 'introspect', { token })).json;
const isActive = async (token: string): Promise<boolean> => (await introspect(token)).active;
const sessionsOf = async ({ proxyId }: SessionProxy): Promise<readonly { readonly id: string }[]> => {
  const { items } = (await service.admin('GET', '/api/sessions?limit=100')).json;
  return items.filter(({ clientId }: { clientId?: string }) => clientId === proxyId);
};
const eventsOf = async ({ agentId }: SessionProxy): Promise<readonly LoggedEvent[]> =>
  (await stepsOn(service.running.url, service.admin).log(`&agentId=${agentId}`)).filter(({ eventType }) =>
    eventType.startsWith('OAUTH_SESSION'),
  );
const typesOf = async (proxy: SessionProxy): Promise<readonly string[]> =>
  (await eventsOf(proxy)).map(({ eventType }) => eventType).toReversed();
const change = (proxy: SessionProxy, body: object): Promise<Answer> =>
  service.admin('PATCH', `/api/proxies/${proxy.proxyId}`, { body });
const post = (path: string): Promise<Answer> => service.admin('POST', path);

describe('a token for an upstream', () => {
  // spec: The upstream validates the session through the introspection endpoint.
  test('a token for an upstream is described by introspection with its agent and audience', async () => {
    const proxy = await newProxy();
    const token = await tokenFor(proxy);
    expect(token).toMatch(/^svsess_[\w-]{43}$/);
    expect(await introspect(token)).toMatchObject({
      active: true,
      aud: UPSTREAM,
      sub: proxy.agentId,
      client_id: proxy.proxyId,
      token_type: 'Bearer',
    });
    const { iat, exp } = await introspect(token);
    expect(exp - iat).toBe(3_600);
  });

  test('a token for an upstream does not print and is stored as a hash', async () => {
    const proxy = await newProxy();
    const secret = await sessions.tokenFor(proxy);
    expect([String(secret), JSON.stringify({ secret })]).toEqual(['[redacted]', '{"secret":"[redacted]"}']);
    expect((await service.place.state.bytes()).includes(secret.reveal())).toBe(false);
  });

  test('every channel of the service rejects a token for an upstream', async () => {
    const token = await tokenFor(await newProxy());
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const { status, headers: said } = await service.anyone('POST', '/api/agents/mcp', { body, headers });
    expect([status, said.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('resource_metadata'),
    ]);
    for (const [method, path, refused] of [
      ['GET', '/api/agents/credentials?service=github', 403],
      ['GET', '/api/me', 401],
      ['GET', '/api/proxies', 401],
    ] as const)
      expect([path, (await service.anyone(method, path, { headers })).status]).toEqual([path, refused]);
    expect(
      (
        await postOauth(service, 'token', {
          grant_type: 'refresh_token',
          refresh_token: token,
          client_id: 'x',
        })
      ).status,
    ).toBe(400);
  });

  test('each proxy, agent and upstream gets another token', async () => {
    const agentId = await newAgent();
    const proxies = [
      await newProxy({ agentId }),
      await newProxy({ agentId }),
      await newProxy({ agentId, upstreamUrl: 'https://other.example.com/' }),
    ];
    const tokens = await Promise.all(proxies.map((proxy) => tokenFor(proxy)));
    expect(new Set(tokens).size).toBe(3);
    expect((await introspect(tokens[2] ?? '')).aud).toBe('https://other.example.com/');
  });
});

describe('a proxy’s session', () => {
  test('a proxy has one session over many requests and processes, with a recognisable client name', async () => {
    const proxy = await newProxy();
    const tokens = await Promise.all(Array.from({ length: 100 }, () => tokenFor(proxy)));
    expect(new Set(tokens).size).toBe(1);
    const other = await tokenFor(proxy, others);
    expect(other).not.toBe(tokens[0]);
    expect(await Promise.all([tokens[0] ?? '', other].map(isActive))).toEqual([true, true]);
    expect(await sessionsOf(proxy)).toEqual([
      expect.objectContaining({
        kind: 'oauth',
        agentId: proxy.agentId,
        clientId: proxy.proxyId,
        client: expect.stringMatching(/^ours /),
        userId: (await service.admin('GET', '/api/me')).json.id,
        current: false,
      }),
    ]);
    expect(await eventsOf(proxy)).toEqual([
      expect.objectContaining({
        eventType: 'OAUTH_SESSION_CREATED',
        proxyId: proxy.proxyId,
        detail: {
          sessionId: expect.stringMatching(/^ses_/),
          clientId: proxy.proxyId,
          client: expect.stringMatching(/^ours /),
        },
      }),
    ]);
    expect((await eventsOf(proxy))[0]).not.toHaveProperty('userId');
  });

  test('a session gets a new token after two thirds of the lifetime of the previous one', async () => {
    const proxy = await newProxy();
    const first = await tokenFor(proxy);
    service.clock.advance(USED_FOR_MS - 1);
    expect(await tokenFor(proxy)).toBe(first);
    service.clock.advance(1);
    const renewed = await Promise.all(Array.from({ length: 20 }, () => tokenFor(proxy)));
    expect(new Set(renewed).size).toBe(1);
    expect(renewed[0]).not.toBe(first);
    // A call with the previous token may still be in flight.
    expect(await Promise.all([first, renewed[0] ?? ''].map(isActive))).toEqual([true, true]);
    service.clock.advance(HOUR_MS / 3);
    expect(await isActive(first)).toBe(false);
    expect([await typesOf(proxy), await sessionsOf(proxy)]).toEqual([
      ['OAUTH_SESSION_CREATED'],
      [expect.anything()],
    ]);
  });

  test('an expired token is not used, and a clock set back extends none', async () => {
    const proxy = await newProxy();
    const first = await tokenFor(proxy);
    service.clock.jump(2 * HOUR_MS);
    const second = await tokenFor(proxy);
    expect(second).not.toBe(first);
    service.clock.jump(-2 * HOUR_MS);
    service.clock.advance(USED_FOR_MS);
    service.clock.jump(-HOUR_MS);
    expect(await tokenFor(proxy)).not.toBe(second);
    service.clock.jump(HOUR_MS);
  });

  test.each<[string, (proxy: SessionProxy, token: string) => Promise<Answer>]>([
    [
      'somebody ends it',
      async (proxy) => service.admin('DELETE', `/api/sessions/${(await sessionsOf(proxy))[0]?.id}`),
    ],
    ['the upstream revokes its token', (_, token) => postOauth(service, 'revoke', { token })],
  ])('a new session is opened once %s, in every process', async (_how, end) => {
    const proxy = await newProxy();
    const [first, second] = [await tokenFor(proxy), await tokenFor(proxy, others)];
    // The second token is of no family that the session is known by.
    expect((await end(proxy, second)).status).toBeLessThan(300);
    expect(await Promise.all([first, second].map(isActive))).toEqual([false, false]);
    const next = [await tokenFor(proxy), await tokenFor(proxy, others)];
    expect(next).not.toEqual(expect.arrayContaining([first]));
    expect(next).not.toEqual(expect.arrayContaining([second]));
    expect(await Promise.all(next.map(isActive))).toEqual([true, true]);
    expect(await typesOf(proxy)).toEqual([
      'OAUTH_SESSION_CREATED',
      'OAUTH_SESSION_REVOKED',
      'OAUTH_SESSION_CREATED',
    ]);
  });

  test('a proxy session expires after 90 days, and after 30 idle days', async () => {
    const [busy, idle] = [await newProxy(), await newProxy()];
    await tokenFor(idle);
    const used = [await tokenFor(busy)];
    const [before] = await sessionsOf(busy);
    for (let day = 0; day < 88; day += 22) {
      service.clock.advance(22 * DAY_MS);
      used.push(await tokenFor(busy));
    }
    expect(new Set(used).size).toBe(used.length);
    expect(await sessionsOf(busy)).toEqual([expect.objectContaining({ id: before?.id })]);
    await tokenFor(idle);
    expect(await typesOf(idle)).toEqual(['OAUTH_SESSION_CREATED', 'OAUTH_SESSION_CREATED']);
    service.clock.advance(2 * DAY_MS - HOUR_MS / 2);
    // A token expires with its session, and is renewed in time.
    const last = await tokenFor(busy);
    const { iat, exp } = await introspect(last);
    expect(exp - iat).toBe(1_800);
    service.clock.advance(HOUR_MS / 2);
    expect(await isActive(await tokenFor(busy))).toBe(true);
    expect(await typesOf(busy)).toEqual(['OAUTH_SESSION_CREATED', 'OAUTH_SESSION_CREATED']);
  });

  test('admins list and end the session of a proxy', async () => {
    const proxy = await newProxy();
    await tokenFor(proxy);
    const [{ id } = { id: '' }] = await sessionsOf(proxy);
    const { session: member } = await addMember(service, 'member');
    expect((await member('GET', '/api/sessions?limit=100')).text).not.toContain(id);
    expect((await member('DELETE', `/api/sessions/${id}`)).status).toBe(404);
  });
});

describe('the end of a proxy’s session', () => {
  test.each<[string, (proxy: SessionProxy) => Promise<Answer>]>([
    ['revoked', ({ proxyId }) => post(`/api/proxies/${proxyId}/revoke`)],
    ['deleted', ({ proxyId }) => service.admin('DELETE', `/api/proxies/${proxyId}`)],
  ])('a proxy that is %s has no session', async (_how, end) => {
    const proxy = await newProxy();
    const token = await tokenFor(proxy);
    expect((await end(proxy)).status).toBeLessThan(300);
    expect([await isActive(token), await sessionsOf(proxy)]).toEqual([false, []]);
    for (const from of [sessions, others])
      await expect(from.tokenFor(proxy)).rejects.toMatchObject({ code: 'INVALID_KEY' });
    expect(await typesOf(proxy)).toEqual(['OAUTH_SESSION_CREATED', 'OAUTH_SESSION_REVOKED']);
  });

  test('another upstream URL ends the session', async () => {
    const proxy = await newProxy();
    const token = await tokenFor(proxy);
    const moved = { ...proxy, upstreamUrl: 'https://moved.example.com/' };
    await change(proxy, { upstreamUrl: moved.upstreamUrl });
    expect(await isActive(token)).toBe(false);
    // A request that was authorized before.
    await expect(sessions.tokenFor(proxy)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const next = await tokenFor(moved);
    expect(await introspect(next)).toMatchObject({ active: true, aud: moved.upstreamUrl });
    expect(await sessionsOf(proxy)).toHaveLength(1);
    // And none now that there is a token for the other upstream.
    await expect(sessions.tokenFor(proxy)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('another agent ends the session', async () => {
    const proxy = await newProxy();
    const token = await tokenFor(proxy);
    const agentId = await newAgent();
    await change(proxy, { agentId });
    expect(await isActive(token)).toBe(false);
    expect((await introspect(await tokenFor({ ...proxy, agentId }))).sub).toBe(agentId);
  });

  test('another name of the proxy keeps the session', async () => {
    const proxy = await newProxy();
    const token = await tokenFor(proxy);
    await change(proxy, { name: 'renamed', headerTemplates: { 'x-a': 'b' } });
    expect([await isActive(token), await tokenFor(proxy)]).toEqual([true, token]);
  });
});

describe('no token is issued', () => {
  test.each([
    ['suspended', 'POST', '/suspend'],
    ['deleted', 'DELETE', ''],
  ])('no token is issued for a %s agent, and its present token is not active', async (_how, method, path) => {
    const proxy = await newProxy();
    const token = await tokenFor(proxy);
    await service.admin(method, `/api/agents/${proxy.agentId}${path}`);
    expect(await isActive(token)).toBe(false);
    await expect(others.tokenFor(proxy)).rejects.toMatchObject({ code: 'AGENT_INACTIVE' });
    service.clock.advance(HOUR_MS);
    await expect(sessions.tokenFor(proxy)).rejects.toMatchObject({ code: 'AGENT_INACTIVE' });
  });

  test('no token is issued while the vault is locked', async () => {
    const proxy = await newProxy();
    await post('/api/vault/lock');
    try {
      await expect(sessions.tokenFor(proxy)).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    } finally {
      await post('/api/vault/unlock');
    }
    expect(await isActive(await tokenFor(proxy))).toBe(true);
  });
});
