import { beforeAll, describe, expect, it } from 'vitest';
import { byHand } from '../../support/http-by-hand.ts';
import { useService } from '../../support/use-service.ts';
import { ERAS, MCP, type McpClient, inEra, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';

// What comes in is anybody's: each kind of it has its documented error, with the id it was asked under, and no stack.
// How a body is read is held by api/mcp/read-message.test.ts and api/http/accept.test.ts.

const MIB = 1024 * 1024;
const service = useService({ SV_LIMIT_MCP_HANDSHAKE: '10000', SV_LIMIT_USER_AGGREGATE: '10000' });
let client: McpClient;
let apiKey: string;
beforeAll(async () => {
  ({ apiKey } = await mcpAgentOn(service));
  client = mcpClientOf(service, apiKey);
});

interface Refused {
  readonly status: number;
  readonly text: string;
}

function expectRefusal({ status, text }: Refused, expected: number, code: number, id: unknown = null): void {
  const body = JSON.parse(text) as { error: { message: string } };
  expect(status).toBe(expected);
  expect(body).toMatchObject({ jsonrpc: '2.0', id, error: { code, message: expect.stringMatching(/./) } });
  expect(text).not.toMatch(/\.(?:ts|mjs|js):\d|node_modules|SyntaxError/);
}

const asking = (method: string, params?: unknown, id: unknown = 1): object => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const PING = JSON.stringify(asking('ping'));
const HANDSHAKE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'c', version: '1' },
};

describe('JSON that is no message', () => {
  // spec: MCP messages use JSON-RPC 2.0 over Streamable HTTP.
  // spec: JSON-RPC 2.0 over Streamable HTTP.
  it.each([
    ['null', 'null', null],
    ['a string', '"ping"', null],
    ['an empty object', '{}', null],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 1],
    ['no version', '{"id":"a","method":"ping"}', 'a'],
    ['a method that is no text', '{"jsonrpc":"2.0","id":1,"method":7}', 1],
    ['no method', '{"jsonrpc":"2.0","id":1}', 1],
    ['parameters in a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', 1],
    ['parameters that are text', '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 1],
    ['a further member', '{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}', 1],
    ['a result and an error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}', 1],
    ['a member twice', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', 1],
    ['an id that is a list', '{"jsonrpc":"2.0","id":[1],"method":"ping"}', null],
    ['an id that is no integer', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 1.5],
  ])('%s: -32600', async (_name, body, id) => expectRefusal(await client.raw(body), 400, -32_600, id));

  it('a text that is no JSON: -32700', async () =>
    expectRefusal(await client.raw(`${PING}${PING}`), 400, -32_700));

  it('100,000 levels: -32600', async () =>
    expectRefusal(
      await client.raw(`{"id":1,"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
      400,
      -32_600,
    ));
});

describe('parameters', () => {
  const many = Array.from({ length: 900 }, (_, index) => `name-${index}`);
  // spec: tools/call takes params.name and params.arguments.
  it.each([
    ['tools/call', {}, 'params.name'],
    ['tools/call', undefined, 'params'],
    ['tools/call', { name: many }, 'params.name'],
    ['tools/call', { name: 'whoami', arguments: [1] }, 'params.arguments'],
    ['tools/list', { cursor: many }, 'params.cursor'],
    ['initialize', { ...HANDSHAKE, clientInfo: { name: 'c' } }, 'params.clientInfo.version'],
    [
      'initialize',
      { ...HANDSHAKE, capabilities: { experimental: { '\u001b"x': 1 } } },
      'params.capabilities.experimental',
    ],
  ])('of %s that are invalid get a short -32602 that names them', async (method, params, member) => {
    const answer = await client.raw(asking(method, params));
    expectRefusal(answer, 200, -32_602, 1);
    expect(answer.json.error.message).toContain(`\`${member}\``);
    expect(answer.text.length).toBeLessThan(300);
  });

  it('of more than a thousand values get a short -32600', async () => {
    const answer = await client.raw(asking('ping', { _meta: { many: [...many, ...many] } }));
    expectRefusal(answer, 400, -32_600, 1);
    expect(answer.text.length).toBeLessThan(300);
  });

  it.each([
    ['ping', null],
    ['tools/list', { cursor: null, _meta: null }],
    ['initialize', { ...HANDSHAKE, capabilities: { roots: null }, _meta: { progressToken: null } }],
    ['tools/call', { name: 'whoami', arguments: null, _meta: null }],
    ['tools/call', { name: 'credential_history', arguments: { service: 'x', limit: null, cursor: null } }],
  ])('of %s that are null count as absent: %j', async (method, params) => {
    const { status, json } = await client.raw(asking(method, params));
    expect([status, json.error, json.result?.structuredContent?.code ?? 'NO_GRANT']).toEqual([
      200,
      undefined,
      'NO_GRANT',
    ]);
  });

  it('of a notification may be null', async () => {
    const message = { jsonrpc: '2.0', method: 'notifications/initialized', params: null };
    expect((await client.raw(message)).status).toBe(202);
  });

  it.each([
    [{ service: null }, '`service` must be the name of a service'],
    [null, '`service` must be the name of a service'],
    [{ service: 'github', limit: 51 }, '`limit` must be an integer from 1 to 50'],
    [{ service: 'github', limit: '5' }, '`limit` must be an integer from 1 to 50'],
    [{ service: 'github', cursor: 'x' }, '`cursor` must be the nextCursor'],
  ])('of credential_history, %j: the tool error names the member', async (given, says) => {
    const params = { name: 'credential_history', arguments: given };
    const { json } = await client.raw(asking('tools/call', params));
    expect(json.result).toMatchObject({ isError: true, structuredContent: { code: 'INVALID_ARGUMENT' } });
    expect(json.result.content[0].text).toContain(says);
  });
});

describe('batches', () => {
  // spec: A request body that is a JSON array (batch) gets a single JSON-RPC error, code -32600, message Batch requests are not supported, id null.
  it.each([
    ['none', []],
    ['one', [asking('ping')]],
    ['nothing known', [1, null, 'x']],
    ['two thousand', Array.from({ length: 2_000 }, (_, id) => asking('ping', undefined, id))],
    ['a call of a credential', [asking('tools/call', { name: 'get_credential' })]],
  ])('of %s: one error with id null', async (_name, batch) => {
    for (const { headers } of ERAS.map((era) => inEra(era, 'ping', undefined, 1))) {
      const answer = await client.raw(batch, headers);
      const error = { code: -32_600, message: 'Batch requests are not supported' };
      expect([answer.status, answer.json]).toEqual([400, { jsonrpc: '2.0', id: null, error }]);
    }
  });
});

it.each([0, -1, 2 ** 53 - 1, '', '1', 'ünï', '\u0000', 'x'.repeat(10_000)])(
  'an id is returned with its type: %j',
  async (id) => {
    for (const era of ERAS) {
      const { headers, body } = inEra(era, 'tools/list', undefined, id);
      expect((await client.raw(body, headers)).json.id).toBe(id);
    }
    expectRefusal(await client.raw({ jsonrpc: '2.0', id, method: 7 }), 400, -32_600, id);
  },
);

describe('a body', () => {
  const padded = (bytes: number): string => {
    const frame = JSON.stringify(asking('ping', { pad: '' }));
    return frame.replace('"pad":""', `"pad":"${'x'.repeat(bytes - frame.length)}"`);
  };
  const send = (options: Parameters<typeof byHand>[1] & { readonly token?: string }) =>
    byHand(service.running.url + MCP, {
      ...options,
      headers: {
        authorization: `Bearer ${options.token ?? apiKey}`,
        'content-type': 'application/json',
        ...options.headers,
      },
    });

  it('of a MiB is accepted, and one of a byte more is rejected', async () => {
    expect((await client.raw(padded(MIB))).status).toBe(200);
    expectRefusal(await client.raw(padded(MIB + 1)), 413, -32_000);
  });

  it('that is too large is rejected without a length or an end, and the connection closes', async () => {
    const answer = await send({ chunks: ['x'.repeat(MIB), 'x'], open: true });
    expectRefusal(answer, 413, -32_000);
    expect(answer.headers.connection).toBe('close');
  });

  it.each([{ 'content-length': String(MIB) }, {}])(
    'of an unauthenticated sender is not buffered: %j',
    async (headers) => {
      const chunks = [padded(MIB).slice(0, 100_000)];
      const answer = await send({ token: `svsess_${'A'.repeat(43)}`, headers, chunks, open: true });
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([401, 'INVALID_KEY']);
    },
  );

  it.each([
    [{ 'content-type': 'text/plain' }, 415],
    [{ 'content-type': 'application/jsonx' }, 415],
    [{ 'content-type': '' }, 415],
    [{ 'content-encoding': 'identity, gzip' }, 415],
    [{ accept: 'text/event-stream' }, 406],
    [{ accept: 'application/json;a=b; Q=0.0' }, 406],
  ])('with %j gets %i', async (headers, status) =>
    expectRefusal(await send({ headers, chunks: [PING] }), status, -32_000),
  );

  it.each([{ 'content-type': 'Application/JSON; charset=utf-8' }, { accept: 'application/*;q=0.5' }, {}])(
    'with %j gets JSON',
    async (headers) => {
      const answer = await send({ headers, chunks: [PING] });
      expect([answer.status, answer.headers['content-type']]).toEqual([
        200,
        'application/json; charset=utf-8',
      ]);
    },
  );
});

it('numbers of any JSON form are accepted', async () => {
  const body = '{"jsonrpc":"2.0","id":1.0,"method":"ping","params":{"_meta":{"rate":1.0,"at":1e3}}}';
  expect((await client.raw(body)).json).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
});
