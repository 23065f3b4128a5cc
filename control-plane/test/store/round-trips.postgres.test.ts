import { listen } from '@svault/server-kit/listener';
import { silentLogger } from '@svault/server-kit/logger';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { createContext } from '../../src/context.ts';
import { makeOwnerLink } from '../support/beside-the-service.ts';
import { cookieBy, registerClient } from '../support/consent-page.ts';
import { startWire } from '../support/database-wire.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { type Answer, type Call, clientOf } from '../support/management-service.ts';
import { type Era, mcpClientOf } from '../support/mcp-steps.ts';
import { REDIRECT, connect } from '../support/oauth-client.ts';
import { PROXY, type TestProxy, proxyOn } from '../support/proxy-steps.ts';
import { CREDENTIALS, type TestAgent, stepsOn } from '../support/service-steps.ts';

/*
 * A credential request costs at most one read and one write at PostgreSQL and one script at Redis, in this order, at REST
 * and at MCP, by key and by session; counted on the wires to both, where nothing can be forgotten. No background job runs
 * here, so all that passes is the request's.
 */

const READ = 'svault_find_agent';
const LIST = 'svault_find_agent_and_grants';
const BY_SESSION = { read: 'svault_find_session', list: 'svault_find_session_and_grants' };
const WRITE = 'svault_record';
const SCRIPT = inject('redis') === undefined ? [] : ['EVALSHA'];

let service: LinkedService;
let agent: TestAgent;
let suspended: TestAgent;
/** Of a client that acts as the agent. */
let accessToken: string;
/** Given to the webhook when it was made. */
let proxy: TestProxy;
let closing: () => Promise<void>;
let admin: Call;
let url: string;
/** In the order in which they passed, on whichever wire. */
let passed: () => readonly string[];

beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
  [agent, suspended] = [
    await service.agent('github', 'policed', 'held', 'rated', 'lapsed'),
    await service.agent('github'),
  ];
  for (const { id } of [agent, suspended])
    await service.admin('PATCH', `/api/agents/${id}`, { body: { mcpEnabled: true } });
  await service.admin('POST', `/api/agents/${suspended.id}/suspend`);
  const cookie = await cookieBy(service, await makeOwnerLink(service));
  const clientId = await registerClient(service, [REDIRECT]);
  ({ accessToken } = await connect({ service, cookie, clientId }, agent.id));
  await service.running.close();

  const { env, adminKey } = service.place;
  const databaseUrl = env['SV_DATABASE_URL'] ?? '';
  const database = await startWire(databaseUrl, 'postgres');
  const wires = [database];
  const moved: Record<string, string> = { ...env, SV_DATABASE_URL: database.over(databaseUrl) };
  if (env['SV_REDIS_URL'] !== undefined) {
    const redis = await startWire(env['SV_REDIS_URL'], 'redis');
    wires.push(redis);
    moved['SV_REDIS_URL'] = redis.over(env['SV_REDIS_URL']);
  }
  const order: string[] = [];
  for (const wire of wires) wire.fault = (statement) => void order.push(statement);
  passed = () => order.splice(0);
  const context = await createContext(controlPlaneConfig(moved), {
    clock: service.clock,
    logger: silentLogger,
  });
  const listener = await listen(createApp(context).listener, context.config.listen);
  ({ url } = listener);
  closing = async () => {
    await listener.close();
    await context.close();
    for (const wire of wires) await wire.close();
    await service.stop();
  };
  admin = clientOf(url, { authorization: `Bearer ${adminKey}` });
  const { agent: make } = stepsOn(url, admin);
  const on = ({ id, apiKey }: TestAgent): TestAgent => {
    const call = clientOf(url, { authorization: `Bearer ${apiKey}` });
    const get = (name: string): Promise<Answer> => call('GET', `/api/agents/credentials?service=${name}`);
    return { id, apiKey, get, list: () => call('GET', '/api/agents/credentials') };
  };
  [agent, suspended] = [on(agent), on(suspended)];
  proxy = await proxyOn({ running: { url }, admin });
  // Everything is prepared, and everything loaded: what a connection or a process does once is not a request's.
  await (await make('warm')).get('warm');
  await Promise.all([agent.get('github'), agent.list(), agent.get('warm')]);
  await Promise.all([proxy.send('tools/call'), proxy.send('tools/list')]);
  const bySession = mcpClientOf({ anyone: clientOf(url) }, accessToken);
  await Promise.all([
    bySession.call2025('get_credential', { service: 'github' }),
    bySession.call2026('whoami'),
  ]);
  await attach('policed', { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] });
  await attach('held', { type: 'manual_approval' });
  await attach('rated', { type: 'rate_limit', limit: 1, windowSeconds: 60 });
});
afterAll(() => closing());
beforeEach(() => {
  service.clock.advance(60_000);
  passed();
});

async function attach(token: string, rule: object): Promise<void> {
  await admin('POST', '/api/tokens', { body: { serviceName: token, tokenType: 'PlainText' } });
  const policy = (
    await admin('POST', '/api/policies', { body: { name: token, enabled: true, rules: [rule] } })
  ).json;
  const body = { targetType: 'token', targetId: token };
  expect((await admin('POST', `/api/policies/${policy.id}/attachments`, { body })).status).toBeLessThan(300);
}

const listTools = (token: string): Promise<Answer> =>
  mcpClientOf({ anyone: clientOf(url) }, token).request('2025-11-25', 'tools/list');
const costs = async (request: () => Promise<Answer>): Promise<readonly unknown[]> => {
  const { status } = await request();
  return [status, ...passed()];
};

describe('one read, one script, one write', () => {
  test('for a credential', async () => {
    expect(await costs(() => agent.get('github'))).toEqual([307, READ, ...SCRIPT, WRITE]);
    expect(await costs(() => agent.get('rated'))).toEqual([307, READ, ...SCRIPT, WRITE]);
  });

  test('for a denial by a policy, including a rate of its own', async () => {
    expect(await costs(() => agent.get('policed'))).toEqual([403, READ, ...SCRIPT, WRITE]);
    await agent.get('rated');
    passed();
    expect(await costs(() => agent.get('rated'))).toEqual([429, READ, ...SCRIPT, WRITE]);
  });

  test('for a service without a grant, and for an invalid name', async () => {
    expect(await costs(() => agent.get('unknown'))).toEqual([404, READ, ...SCRIPT, WRITE]);
    expect(await costs(() => agent.get('a%2Fb'))).toEqual([400, READ, ...SCRIPT, WRITE]);
  });

  test('for a locked vault', async () => {
    await admin('POST', '/api/vault/lock');
    passed();
    expect(await costs(() => agent.get('github'))).toEqual([423, READ, ...SCRIPT, WRITE]);
    await admin('POST', '/api/vault/unlock');
  });
});

test('a request whose approval is pending costs one read more', async () => {
  const asked = (await agent.get('held')).json.approval;
  passed();
  const approval = expect.stringContaining('from "approvals"');
  expect(await costs(() => agent.get('held'))).toEqual([403, READ, ...SCRIPT, approval, WRITE]);
  expect((await agent.get('held')).json.approval).toEqual(asked);
});

test('the list of grants writes nothing', async () => {
  expect(await costs(() => agent.list())).toEqual([200, LIST, ...SCRIPT]);
});

describe.each([
  ['by key', () => agent.apiKey, { read: READ, list: LIST }],
  ['by session', () => accessToken, BY_SESSION],
] as const)('at MCP %s', (_way, credential, { read, list }) => {
  const mcp = () => mcpClientOf({ anyone: clientOf(url) }, credential());
  /** With the code of a tool error beside the status. */
  const call = async (era: Era, tool: string, args?: object): Promise<readonly unknown[]> => {
    const { status, content } = await mcp().call(era, tool, args);
    return [status, ...(content?.code === undefined ? [] : [content.code]), ...passed()];
  };

  test.each(['2025-11-25', '2026-07-28'] as const)('%s: one read, one script, one write', async (era) => {
    const get = (service: unknown) => call(era, 'get_credential', { service });
    expect(await get('github')).toEqual([200, read, ...SCRIPT, WRITE]);
    expect(await get('policed')).toEqual([200, 'POLICY_DENIED', read, ...SCRIPT, WRITE]);
    expect(await get('unknown')).toEqual([200, 'NO_GRANT', read, ...SCRIPT, WRITE]);
    expect(await get('a/b')).toEqual([200, 'INVALID_ARGUMENT', read, ...SCRIPT, WRITE]);
    expect(await get(7)).toEqual([200, 'INVALID_ARGUMENT', read, ...SCRIPT, WRITE]);
    expect(await call(era, 'show_credential', { service: 'unknown' })).toEqual([
      200,
      'NO_GRANT',
      read,
      ...SCRIPT,
      WRITE,
    ]);
  });

  test('an operation other than get_credential writes nothing', async () => {
    for (const method of ['initialize', 'tools/list', 'ping', 'nothing/known'])
      expect((await costs(() => mcp().request('2025-11-25', method, {}))).slice(1)).toEqual([
        read,
        ...SCRIPT,
      ]);
    expect((await costs(() => mcp().request('2026-07-28', 'server/discover'))).slice(1)).toEqual([
      read,
      ...SCRIPT,
    ]);
    expect(await costs(() => mcp().raw('{'))).toEqual([400, read, ...SCRIPT]);
    expect(await costs(() => mcp().raw([]))).toEqual([400, read, ...SCRIPT]);
    const [status, ...further] = await call('2025-11-25', 'list_credentials');
    expect([status, ...further.slice(0, 1 + SCRIPT.length)]).toEqual([200, list, ...SCRIPT]);
    expect(further).not.toContain(WRITE);
  });
});

describe('at the proxy endpoint', () => {
  const FIND = 'svault_find_proxy';

  test.each(['POST', 'GET', 'DELETE', 'OPTIONS'])('%s: one read, one script, one write', async (method) => {
    expect(await costs(() => proxy.call(method))).toEqual([200, FIND, ...SCRIPT, WRITE]);
    await admin('POST', '/api/vault/lock');
    passed();
    expect(await costs(() => proxy.call(method))).toEqual([423, FIND, ...SCRIPT, WRITE]);
    await admin('POST', '/api/vault/unlock');
  });

  test('a large body costs one more read', async () => {
    const large = { rawBody: 'x'.repeat(200_000) };
    expect(await costs(() => proxy.call('POST', large))).toEqual([200, FIND, FIND, ...SCRIPT, WRITE]);
  });

  test('a denial by a policy of the token, including a rate of its own', async () => {
    const policed = await proxyOn({ running: { url }, admin }, { serviceName: 'policed' });
    const rated = await proxyOn({ running: { url }, admin }, { serviceName: 'rated' });
    passed();
    expect(await costs(() => policed.send('tools/call'))).toEqual([403, FIND, ...SCRIPT, WRITE]);
    expect(await costs(() => rated.send('tools/call'))).toEqual([200, FIND, ...SCRIPT, WRITE]);
    expect(await costs(() => rated.send('tools/call'))).toEqual([429, FIND, ...SCRIPT, WRITE]);
  });

  test('denials of an inactive agent and its proxy are written once a minute, without the limiter', async () => {
    const idle = await proxyOn({ running: { url }, admin }, { agentId: suspended.id });
    passed();
    expect(await costs(() => idle.send('tools/call'))).toEqual([403, FIND, WRITE]);
    expect(await costs(() => idle.send('tools/call'))).toEqual([403, FIND]);
    expect(await costs(() => suspended.get('github'))).toEqual([403, READ, WRITE]);
    expect(await costs(() => suspended.get('github'))).toEqual([403, READ]);
  });
});

test('denials by a limit are written once a minute, and not by the request', async () => {
  const statuses = new Set<number>();
  for (let left = 11; left > 0; left--) statuses.add((await agent.get('unknown')).status);
  passed();
  expect([...statuses]).toEqual([404, 429]);
  expect(await costs(() => agent.get('unknown'))).toEqual([429, READ, ...SCRIPT]);
  for (let left = 60; left > 0; left--) await agent.list();
  passed();
  // A process that knows who is locked out need not ask.
  expect([
    [429, READ],
    [429, READ, ...SCRIPT],
  ]).toContainEqual(await costs(() => agent.get('github')));
});

test.each<[string, (key: string) => Promise<Answer>, string, string]>([
  ['an agent’s key', (key) => clientOf(url, { 'x-agent-key': key })('GET', CREDENTIALS), 'svagent', LIST],
  ['a proxy’s key', (key) => clientOf(url, { 'x-mcp-key': key })('GET', PROXY), 'mcp', 'svault_find_proxy'],
  ['a session’s token at MCP', (token) => listTools(token), 'svsess', BY_SESSION.read],
  ['an agent’s key at MCP', (key) => listTools(key), 'svagent', READ],
])(
  '%s that is none of ours costs one read, one that cannot be ours nothing',
  async (_what, ask, kind, read) => {
    expect((await costs(() => ask(`${kind}_${'A'.repeat(43)}`))).slice(1)).toEqual([read]);
    for (const malformed of [`${kind}_short`, `svsessr_${'A'.repeat(43)}`])
      expect((await costs(() => ask(malformed))).slice(1)).toEqual([]);
  },
);

test('the count includes every statement, as a management request shows', async () => {
  await admin('GET', '/api/agents');
  expect(passed().length).toBeGreaterThan(1);
});
