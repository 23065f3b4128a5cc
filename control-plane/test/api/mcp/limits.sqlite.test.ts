import { describe, expect, it } from 'vitest';
import type { Answer } from '../../support/management-service.ts';
import { useService } from '../../support/use-service.ts';
import { ERAS, type McpClient, inEra, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';

// Which limit a message counts against is told by its body alone. At their real numbers: specification/mcp-limits.sqlite.test.ts.

const service = useService({
  SV_LIMIT_AGENT_CREDENTIALS: '3',
  SV_LIMIT_MCP_HANDSHAKE: '4',
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

// spec: The -32029 code lies in the JSON-RPC server-error band and is specific to the service.
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
