import { describe, expect, it } from 'vitest';
import type { Answer } from '../../support/management-service.ts';
import { useService } from '../../support/use-service.ts';
import { ERAS, type McpClient, inEra, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';

// Which limit a message counts against is told by its body alone.

const service = useService({
  SV_LIMIT_AGENT_CREDENTIALS: '3',
  SV_LIMIT_MCP_HANDSHAKE: '4',
  SV_LIMIT_CREDENTIAL_HISTORY: '2',
});

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
async function isLockedOut({ id }: Agent): Promise<boolean> {
  const { items } = (await service.admin('GET', '/api/limits/lockouts')).json;
  return (items as { callerId: string }[]).some(({ callerId }) => callerId === id);
}
const FLOOR = 3;
const HANDSHAKE = 4;

it.each(ERAS.flatMap((era) => ['ping', 'nothing/known'].map((method) => [method, era] as const)))(
  '%s counts against mcp_handshake, and not against the floor (%s)',
  async (method, era) => {
    const agent = await newAgent();
    expect(await allowance(() => agent.request(era, method))).toBe(HANDSHAKE);
    expect((await agent.call(era, 'whoami')).status).toBe(200);
  },
);

it('the body tells what a message counts against, whatever its headers say', async () => {
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

// spec: or the -32029 error on MCP.
// spec: Rate and penalty denials come back as a JSON-RPC error, not a tool result:
// spec: HTTP 429, a Retry-After header, and the request's own id.
// spec: error.code is -32029 (a service-specific code).
// spec: error.message is a string.
// spec: error.data is {code: RATE_LIMITED, retryAfter}.
// spec: On this endpoint data.code is always RATE_LIMITED.
// spec: The -32029 code lies in the JSON-RPC server-error band and is specific to the service.
it.each(ERAS)('a denial is a JSON-RPC error under the id of the request (%s)', async (era) => {
  const agent = await newAgent('github');
  await allowance(() => agent.call(era, 'whoami').then(({ answer }) => answer));
  const params = { name: 'get_credential', arguments: { service: 'github' } };
  for (const id of ['a text', '', 0, -7, 2 ** 40]) {
    const { headers, body } = inEra(era, 'tools/call', params, id);
    expectLimited(await agent.raw(body, headers), id);
  }
  expectLimited(await agent.raw({ jsonrpc: '2.0', method: 'notifications/cancelled' }), null);
});

// spec: A JSON-RPC batch counts as one unit. It counts against mcp_handshake only if every message in it is exempt. Otherwise the whole batch counts against the floor.
it.each([
  ['of handshake messages', ['initialize', 'notifications/x', 'tools/list'], HANDSHAKE],
  ['with a call', ['tools/list', 'tools/call'], FLOOR],
  ['with another method', ['tools/list', 'ping'], FLOOR],
  ['of nothing', [], FLOOR],
])('a batch %s counts once', async (_what, methods, limit) => {
  const agent = await newAgent();
  const batch = methods.map((method) => ({ jsonrpc: '2.0', id: 1, method }));
  expect(await allowance(() => agent.raw(batch))).toBe(limit);
  expect(await isLockedOut(agent)).toBe(limit === FLOOR);
});

// spec: credential_history | 20 per minute per agent | An extra cap on top of agent_credentials for credential_history. It is checked before any log read. It can be overridden by environment.
it('credential_history has a limit besides the floor, which is evaluated before the log is read', async () => {
  const agent = await newAgent('github');
  const { state } = service.place;
  const read = async () => (await agent.call2025('credential_history', { service: 'github' })).answer;
  for (let calls = 0; calls < 2; calls++) expect((await read()).json.result.isError).toBeUndefined();
  await state.run('ALTER TABLE audit_events RENAME TO audit_events_away');
  const [limited] = [await read(), service.clock.advance(60_000)];
  const unreadable = await read();
  await state.run('ALTER TABLE audit_events_away RENAME TO audit_events');
  expectLimited(limited, 3);
  expect(unreadable.status).toBeGreaterThanOrEqual(500);
  // The third call was the last that the floor admits.
  service.clock.advance(60_000);
  for (let calls = 0; calls < 3; calls++) await read();
  expect(await isLockedOut(agent)).toBe(false);
  expectLimited((await agent.call2025('whoami')).answer, 8);
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
