import { beforeAll, describe, expect, it } from 'vitest';
import { byHand } from '../../support/http-by-hand.ts';
import { useService } from '../../support/use-service.ts';
import { ERAS, MCP, type McpClient, inEra, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';

// What comes in is anybody's: each kind of it has its documented error, with the id it was asked under, and no stack.

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

const pinging = (id: unknown): object => ({ jsonrpc: '2.0', id, method: 'ping' });
const PING = JSON.stringify(pinging(1));

describe('a body that is no JSON', () => {
  it.each([
    ['nothing', ''],
    ['words', 'ping'],
    ['half a message', '{"jsonrpc":"2.0","id":1,'],
    ['two messages', `${PING}${PING}`],
    ['a trailing comma', '{"jsonrpc":"2.0","id":1,"method":"ping",}'],
    ['a byte order mark', `\ufeff${PING}`],
    ['a form', 'jsonrpc=2.0&method=ping'],
    ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}'],
  ])('%s: -32700', async (_name, body) => expectRefusal(await client.raw(body), 400, -32_700));

  it('invalid UTF-8: -32700', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}'),
    ]);
    expectRefusal(await client.raw(bytes), 400, -32_700);
  });
});

describe('JSON that is no message', () => {
  // spec: MCP messages use JSON-RPC 2.0 over Streamable HTTP.
  // spec: JSON-RPC 2.0 over Streamable HTTP.
  it.each([
    ['null', 'null', null],
    ['a number', '7', null],
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
    [
      'a nested member twice',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}',
      1,
    ],
    ['__proto__', '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{"id":2}}', 1],
    ['a nested __proto__', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{"name":"x"}}}', 1],
    ['half a character', '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', 1],
    ['a number beyond all', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":1e400}}', 1],
    ['an id beyond all', '{"jsonrpc":"2.0","id":1e400,"method":"ping"}', null],
  ])('%s: -32600', async (_name, body, id) =>
    expectRefusal(await client.raw(body), 400, -32_600, id ?? null),
  );

  it.each([33, 1_000, 100_000])('%i levels: -32600, whatever is inside', async (depth) => {
    const deep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`;
    expectRefusal(await client.raw(deep), 400, -32_600);
    expectRefusal(await client.raw('['.repeat(depth)), 400, depth > 32 ? -32_600 : -32_700);
  });
});

const HANDSHAKE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'c', version: '1' },
};

describe('many values', () => {
  const many = Array.from({ length: 2_000 }, (_, index) => [`name-${index}`, index] as const);
  const initialize = { ...HANDSHAKE, capabilities: { experimental: Object.fromEntries(many) } };
  it.each([
    ['in an object', { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize }],
    ['in a list', { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { many } } }],
  ])('%s: -32600, with a body no longer than the request', async (_name, message) => {
    const answer = await client.raw(message);
    expectRefusal(answer, 400, -32_600, 1);
    expect(answer.text.length).toBeLessThan(300);
  });

  it.each([
    ['initialize', { ...initialize, capabilities: { experimental: Object.fromEntries(many.slice(0, 900)) } }],
    ['initialize', {}],
    ['tools/list', { cursor: many.slice(0, 400) }],
    ['tools/call', { name: many.slice(0, 400) }],
    ['tools/call', {}],
  ])('invalid parameters of %s: a short -32602', async (method, params) => {
    const answer = await client.raw({ jsonrpc: '2.0', id: 1, method, params });
    expectRefusal(answer, 200, -32_602, 1);
    expect(answer.text.length).toBeLessThan(300);
  });

  // spec: tools/call takes params.name and params.arguments.
  it.each([
    ['tools/call', {}, 'params.name'],
    ['tools/call', undefined, 'params'],
    ['tools/call', { name: 'whoami', arguments: [1] }, 'params.arguments'],
    ['tools/call', { name: 'whoami', arguments: 'x' }, 'params.arguments'],
    ['tools/list', { cursor: 7 }, 'params.cursor'],
    ['initialize', { ...HANDSHAKE, clientInfo: { name: 'c' } }, 'params.clientInfo.version'],
    [
      'initialize',
      { ...HANDSHAKE, capabilities: { experimental: { '\u001b"x': 1 } } },
      'params.capabilities.experimental',
    ],
  ])('invalid parameters of %s, %j: -32602 names %s', async (method, params, member) => {
    const answer = await client.raw({ jsonrpc: '2.0', id: 1, method, params });
    expectRefusal(answer, 200, -32_602, 1);
    expect(answer.json.error.message).toContain(`\`${member}\``);
  });

  it.each([
    ['ping', null],
    ['tools/list', null],
    ['tools/list', { cursor: null, _meta: null }],
    ['initialize', { ...HANDSHAKE, capabilities: { roots: null }, _meta: { progressToken: null } }],
    ['tools/call', { name: 'whoami', arguments: null }],
    ['tools/call', { name: 'whoami', arguments: null, _meta: null }],
  ])('a null member in the parameters of %s counts as absent: %j', async (method, params) => {
    const { status, json } = await client.raw({ jsonrpc: '2.0', id: 1, method, params });
    expect([status, json.error, json.result?.isError]).toEqual([200, undefined, undefined]);
  });

  it('a notification with null params is accepted', async () => {
    const { status } = await client.raw({
      jsonrpc: '2.0',
      method: 'notifications/initialized',
      params: null,
    });
    expect(status).toBe(202);
  });

  it.each([
    [{ service: null }, '`service` must be the name of a service'],
    [null, '`service` must be the name of a service'],
    [{ service: 'github', limit: 51 }, '`limit` must be an integer from 1 to 50'],
    [{ service: 'github', limit: '5' }, '`limit` must be an integer from 1 to 50'],
    [{ service: 'github', cursor: 'x' }, '`cursor` must be the nextCursor'],
  ])('invalid arguments of credential_history, %j: the tool error names the member', async (given, says) => {
    const params = { name: 'credential_history', arguments: given };
    const { json } = await client.raw({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect(json.result.isError).toBe(true);
    expect(json.result.structuredContent).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(json.result.content[0].text).toContain(says);
  });

  it('optional arguments of a tool that are null count as absent', async () => {
    const params = {
      name: 'credential_history',
      arguments: { service: 'github', limit: null, cursor: null },
    };
    const { json } = await client.raw({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect(json.result.structuredContent).toEqual({ history: expect.any(Array) });
  });
});

describe('batches', () => {
  // spec: A request body that is a JSON array (batch) gets a single JSON-RPC error, code -32600, message Batch requests are not supported, id null.
  it.each([
    ['none', []],
    ['one', [pinging(1)]],
    ['two', [pinging(1), pinging(2)]],
    ['nothing known', [1, null, 'x']],
    ['two thousand', Array.from({ length: 2_000 }, (_, id) => pinging(id))],
    [
      'a call of a credential',
      [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_credential' } }],
    ],
  ])('of %s: one error with id null', async (_name, batch) => {
    for (const { headers } of ERAS.map((era) => inEra(era, 'ping', undefined, 1))) {
      const answer = await client.raw(batch, headers);
      expect([answer.status, answer.json]).toEqual([
        400,
        { jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'Batch requests are not supported' } },
      ]);
    }
  });
});

describe('ids', () => {
  it.each([0, 1, -1, 2 ** 53 - 1, '', '1', 'a b', 'ünï', '\u0000', '"', 'x'.repeat(10_000)])(
    'are returned with their type: %j',
    async (id) => {
      for (const era of ERAS) {
        const { headers, body } = inEra(era, 'tools/list', undefined, id);
        expect((await client.raw(body, headers)).json.id).toBe(id);
      }
      expectRefusal(await client.raw({ jsonrpc: '2.0', id, method: 7 }), 400, -32_600, id);
    },
  );

  it.each([1.5, 2 ** 53, -1e300])('that are no integers are rejected under the same id: %j', async (id) =>
    expectRefusal(await client.raw(pinging(id)), 400, -32_600, id),
  );

  it.each([null, true, {}, { id: 1 }, [], [1]])(
    'that are neither text nor number are rejected under null: %j',
    async (id) => expectRefusal(await client.raw(pinging(id)), 400, -32_600, null),
  );
});

describe('size', () => {
  const padded = (bytes: number): string => {
    const frame = JSON.stringify({ ...pinging(1), params: { pad: '' } });
    return frame.replace('"pad":""', `"pad":"${'x'.repeat(bytes - frame.length)}"`);
  };

  it('a MiB is accepted', async () => expect((await client.raw(padded(MIB))).status).toBe(200));

  it('a byte more is rejected by its declared length', async () =>
    expectRefusal(await client.raw(padded(MIB + 1)), 413, -32_000));

  it('a byte more without a declared length is rejected, and the connection closes', async () => {
    const body = padded(MIB + 1);
    const answer = await byHand(service.running.url + MCP, {
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      chunks: [body.slice(0, MIB), body.slice(MIB)],
    });
    expectRefusal(answer, 413, -32_000);
    expect(answer.headers.connection).toBe('close');
  });

  it.each([
    ['declared', { 'content-length': String(MIB) }],
    ['undeclared', {}],
  ])('a large body of an unauthenticated sender is not buffered: %s', async (_how, length) => {
    const headers = { authorization: `Bearer svsess_${'A'.repeat(43)}`, 'content-type': 'application/json' };
    const answer = await byHand(service.running.url + MCP, {
      headers: { ...headers, ...length },
      chunks: [padded(MIB).slice(0, 100_000)],
      open: true,
    });
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([401, 'INVALID_KEY']);
  });

  it('the end of a body that is too large is not awaited', async () => {
    const answer = await byHand(service.running.url + MCP, {
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      chunks: ['x'.repeat(MIB), 'x'.repeat(MIB)],
      open: true,
    });
    expectRefusal(answer, 413, -32_000);
  });
});

describe('media types', () => {
  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'application/json-rpc',
    'json',
    '',
  ])('Content-Type %j: 415', async (type) =>
    expectRefusal(await client.raw(PING, { 'content-type': type }), 415, -32_000),
  );
  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;x=y'])(
    'Content-Type %s is accepted',
    async (type) => expect((await client.raw(PING, { 'content-type': type })).status).toBe(200),
  );
  it('no Content-Type: 415', async () => {
    const headers = { authorization: `Bearer ${apiKey}` };
    expectRefusal(await byHand(service.running.url + MCP, { headers, chunks: [PING] }), 415, -32_000);
  });
  it.each(['gzip', 'br', 'identity, gzip'])('Content-Encoding %s: 415', async (coding) =>
    expectRefusal(await client.raw(PING, { 'content-encoding': coding }), 415, -32_000),
  );

  it.each([
    'text/plain',
    'text/event-stream',
    'application/xml, text/*',
    'application/json;q=0',
    'application/json;a=b; Q=0.0',
    'x',
    '',
  ])('Accept %j: 406', async (accept) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', accept };
    expectRefusal(await byHand(service.running.url + MCP, { headers, chunks: [PING] }), 406, -32_000);
  });
  it.each([
    'application/json',
    '*/*',
    'application/*;q=0.5',
    'text/event-stream,application/json',
    'text/html, APPLICATION/JSON;q=0.1',
  ])('Accept %s gets JSON', async (accept) => {
    const answer = await client.raw(PING, { accept });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
  });
  it('a missing Accept accepts JSON', async () => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    expect((await byHand(service.running.url + MCP, { headers, chunks: [PING] })).status).toBe(200);
  });
});

it('numbers of any JSON form are accepted', async () => {
  const body = '{"jsonrpc":"2.0","id":1.0,"method":"ping","params":{"_meta":{"rate":1.0,"at":1e3}}}';
  expect((await client.raw(body)).json).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
});

it('__proto__ does not change the prototype of objects', async () => {
  for (const era of ERAS)
    await client.call(era, 'get_credential', { service: 'x', constructor: { prototype: { polluted: 1 } } });
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});
