import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type ManagementService, startService } from './management-service.ts';
import { ERAS, type McpClient, inEra, mcpAgentOn, mcpClientOf } from './mcp-steps.ts';
import { stepsOn } from './service-steps.ts';

// The limits of the specification as MCP answers them: which messages count against what, told by the body alone, and
// the one shape of a refusal.

let service: ManagementService;
beforeAll(async () => {
  service = await startService({
    SV_LIMIT_AGENT_CREDENTIALS: '3',
    SV_LIMIT_MCP_HANDSHAKE: '4',
    SV_LIMIT_CREDENTIAL_HISTORY: '1',
    SV_LIMIT_USER_AGGREGATE: '100000',
  });
});
afterAll(() => service.stop());

interface Agent extends McpClient {
  readonly id: string;
  readonly apiKey: string;
}
async function newAgent(...services: string[]): Promise<Agent> {
  const agent = await mcpAgentOn(service, ...services);
  return { ...agent, ...mcpClientOf(service, agent.apiKey) };
}

/** HTTP 429, `Retry-After`, `-32029`, the request's own id, and `data` (specification, "MCP endpoint"). */
function expectLimited({ status, headers, json }: Answer, id: unknown): void {
  expect(status).toBe(429);
  const seconds = Number(headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(json).toEqual({
    jsonrpc: '2.0',
    id,
    error: {
      code: -32_029,
      message: expect.stringMatching(/./),
      data: { code: 'RATE_LIMITED', retryAfter: seconds },
    },
  });
}

/** How often something goes through before it is limited. */
async function allowance(send: () => Promise<Answer>): Promise<number> {
  for (let count = 0; count < 20; count++) if ((await send()).status === 429) return count;
  return Infinity;
}
const FLOOR = 3;
const HANDSHAKE = 4;

const message = (method: string, params?: object): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  ...(params && { params }),
});

describe.each(ERAS)('in %s', (era) => {
  it.each([
    ['whoami', {}],
    ['list_credentials', {}],
    ['get_credential', { service: 'github' }],
    ['get_credential', {}],
    ['show_credential', { service: 'github' }],
    ['nothing_known', {}],
    ['get_credential', ['no object']],
  ])('tools/call of %s with %j counts against the floor', async (tool, args) => {
    const agent = await newAgent('github');
    expect(await allowance(async () => (await agent.call(era, tool, args)).answer)).toBe(FLOOR);
  });

  it.each(['initialize', 'tools/list', 'server/discover', 'ping', 'nothing/known', 'notifications/x'])(
    '%s counts against mcp_handshake, and not against the floor',
    async (method) => {
      const agent = await newAgent();
      expect(await allowance(() => agent.request(era, method))).toBe(HANDSHAKE);
      expect((await agent.call(era, 'whoami')).status).toBe(200);
    },
  );

  it('a limited request is answered with its own id, of either type', async () => {
    const agent = await newAgent();
    for (let n = 0; n < HANDSHAKE; n++) await agent.request(era, 'tools/list');
    for (const id of ['abc', 0, 'x'.repeat(500)]) {
      const { headers, body } = inEra(era, 'tools/list', undefined, id);
      expectLimited(await agent.raw(body, headers), id);
    }
  });

  it('credential_history has a cap of its own on top of the floor', async () => {
    const agent = await newAgent();
    const call = async () => (await agent.call(era, 'credential_history', { service: 'github' })).answer;
    expect((await call()).status).toBe(200);
    const limited = await call();
    expectLimited(limited, limited.json.id);
    // Not a strike: other tools go on while the floor has room.
    expect((await agent.call(era, 'whoami')).status).toBe(200);
  });
});

it('shares floor and lockout with the REST endpoint, in both directions', async () => {
  const { agent: restAgent } = stepsOn(service.running.url, service.admin);
  const rest = await restAgent();
  await service.admin('PATCH', `/api/agents/${rest.id}`, { body: { mcpEnabled: true } });
  const client = mcpClientOf(service, rest.apiKey);
  expect((await rest.list()).status).toBe(200);
  expect((await client.call2025('whoami')).status).toBe(200);
  expect((await rest.list()).status).toBe(200);
  expectLimited((await client.call2026('whoami')).answer, 2);
  expect((await rest.list()).status).toBe(429);
  // Who is in the penalty box is not heard at all.
  expectLimited(await client.request('2025-11-25', 'tools/list'), 3);
});

it('is told by the body: no header changes the class', async () => {
  const agent = await newAgent();
  const { body, headers } = inEra('2026-07-28', 'tools/call', { name: 'whoami' }, 1);
  const disguised = { ...headers, 'mcp-method': 'tools/list', 'mcp-name': '' };
  // Refused for what it pretends to be, and counted as what it is.
  expect(await allowance(() => agent.raw(body, disguised))).toBe(FLOOR);

  const other = await newAgent();
  const listing = inEra('2025-11-25', 'tools/list', undefined, 1);
  expect(
    await allowance(() => other.raw(listing.body, { ...listing.headers, 'mcp-method': 'tools/call' })),
  ).toBe(HANDSHAKE);
});

describe('batches count once', () => {
  const call = message('tools/call', { name: 'whoami' });
  it.each([
    [
      'of exempt messages',
      [message('initialize'), message('tools/list'), message('notifications/initialized')],
      HANDSHAKE,
    ],
    ['of exempt messages and a call', [message('initialize'), call], FLOOR],
    ['of calls', [call, call, call, call, call, call], FLOOR],
    ['of a ping, which the specification does not exempt', [message('ping')], FLOOR],
    ['of what is no message', [1, null], FLOOR],
    ['of nothing', [], FLOOR],
  ])('%s', async (_name, batch, expected) => {
    const agent = await newAgent();
    expect(await allowance(() => agent.raw(batch))).toBe(expected);
    expectLimited(await agent.raw(batch), null);
  });
});

describe('what cannot be read counts against mcp_handshake', () => {
  it.each([
    ['no JSON', 'x', {}],
    ['nothing', '', {}],
    ['too much', 'x'.repeat(1024 * 1024 + 1), {}],
    ['another type', '{}', { 'content-type': 'text/plain' }],
    ['no message', '{}', {}],
  ])('%s', async (_name, body, headers) => {
    const agent = await newAgent();
    expect(await allowance(() => agent.raw(body, headers))).toBe(HANDSHAKE);
    expectLimited(await agent.raw(body, headers), null);
  });
});

it('a limited notification is answered with id null', async () => {
  const agent = await newAgent();
  const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
  expect(await allowance(() => agent.raw(notification))).toBe(HANDSHAKE);
  expectLimited(await agent.raw(notification), null);
});

it('handshakes count against the account’s ceiling too, and strike nobody', async () => {
  const small = await startService({ SV_LIMIT_USER_AGGREGATE: '5' });
  const agent = await mcpAgentOn(small);
  const client = mcpClientOf(small, agent.apiKey);
  expect(await allowance(() => client.request('2025-11-25', 'tools/list'))).toBe(5);
  expectLimited((await client.call2025('whoami')).answer, 7);
  const { json } = await small.admin('GET', '/api/limits/lockouts');
  expect(json.items).toEqual([]);
  await small.stop();
});
