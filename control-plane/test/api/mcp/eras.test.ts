import { beforeAll, describe, expect, it } from 'vitest';
import { useService } from '../../support/use-service.ts';
import { ENVELOPE, type McpClient, inEra, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';

// One endpoint for the revisions with a handshake and for the one without: which of them a message is in is told by its
// body, and headers that say otherwise are refused.

const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const INFO = { name: 'svault', title: 'svault', version: expect.any(String) };

const service = useService({ SV_LIMIT_MCP_HANDSHAKE: '10000', SV_LIMIT_USER_AGGREGATE: '10000' });
let client: McpClient;
beforeAll(async () => {
  client = mcpClientOf(service, (await mcpAgentOn(service)).apiKey);
});

const initialize = (protocolVersion: string, headers = {}) =>
  client.raw(
    {
      jsonrpc: '2.0',
      id: 'first',
      method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } },
    },
    headers,
  );

describe('the revisions with a handshake', () => {
  it.each(LEGACY)('agrees on %s', async (version) => {
    const { status, json } = await initialize(version);
    expect(status).toBe(200);
    expect(json).toEqual({
      jsonrpc: '2.0',
      id: 'first',
      result: {
        protocolVersion: version,
        capabilities: { tools: {} },
        serverInfo: INFO,
        instructions: expect.stringContaining('get_credential'),
      },
    });
  });

  it.each(['1999-01-01', '2026-07-28', '2099-01-01', 'latest', ''])(
    'offers the newest it has where a client asks for %j',
    async (version) => expect((await initialize(version)).json.result.protocolVersion).toBe('2025-11-25'),
  );

  it('keeps nothing of a handshake: what follows needs no session, and may be in another revision', async () => {
    const answer = await initialize('2024-11-05');
    expect(answer.headers.has('mcp-session-id')).toBe(false);
    for (const version of LEGACY) {
      const { headers, body } = inEra('2025-11-25', 'tools/list', undefined, 2);
      const listed = await client.raw(body, { ...headers, 'mcp-protocol-version': version });
      expect(listed.json.result.tools).toHaveLength(5);
    }
  });

  it('ignores the session id of a client that once had one', async () => {
    const { headers, body } = inEra('2025-11-25', 'ping', undefined, 2);
    const answer = await client.raw(body, { ...headers, 'mcp-session-id': 'of-another-server' });
    expect([answer.status, answer.json]).toEqual([200, { jsonrpc: '2.0', id: 2, result: {} }]);
  });

  it('takes requests without a version header, and without a handshake before them', async () => {
    const { body } = inEra('2025-11-25', 'tools/list', undefined, 3);
    expect((await client.raw(body)).json.result.tools).toHaveLength(5);
  });

  it.each(['1.0', '2023-01-01', '2025-11-24', ''])(
    'answers 400 to the version header %j',
    async (version) => {
      const { body } = inEra('2025-11-25', 'tools/list', undefined, 4);
      const answer = await client.raw(body, { 'mcp-protocol-version': version });
      expect([answer.status, answer.json.id]).toEqual([400, 4]);
      expect(answer.json.error.message).toContain('2025-11-25');
    },
  );

  // spec: Methods used: initialize, tools/list, tools/call, notifications/*.
  it('answers a method that it has not with -32601 and 200', async () => {
    for (const method of [
      'resources/list',
      'prompts/list',
      'server/discover',
      'completion/complete',
      'toString',
    ]) {
      const answer = await client.request('2025-11-25', method);
      expect([answer.status, answer.json.error.code]).toEqual([200, -32_601]);
    }
  });
});

describe('2026-07-28', () => {
  it('is discovered', async () => {
    const { status, json } = await client.request('2026-07-28', 'server/discover');
    expect(status).toBe(200);
    expect(json.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      instructions: expect.any(String),
      resultType: 'complete',
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': INFO },
    });
  });

  it('answers methods of the handshake, and those it has not, with -32601 and 404', async () => {
    for (const method of [
      'initialize',
      'ping',
      'logging/setLevel',
      'subscriptions/listen',
      'resources/list',
    ]) {
      const params = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: ENVELOPE,
        notifications: {},
      };
      const answer = await client.request('2026-07-28', method, params);
      expect([answer.status, answer.json.error.code]).toEqual([404, -32_601]);
    }
  });

  const call = { name: 'whoami', arguments: {} };
  const { headers, body } = inEra('2026-07-28', 'tools/call', call, 9);
  const without = (name: string) =>
    Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));

  it.each([
    ['no MCP-Protocol-Version', without('mcp-protocol-version')],
    ['no Mcp-Method', without('mcp-method')],
    ['no Mcp-Name', without('mcp-name')],
    ['another version', { ...headers, 'mcp-protocol-version': '2025-11-25' }],
    ['another method', { ...headers, 'mcp-method': 'tools/list' }],
    ['a method in another case', { ...headers, 'mcp-method': 'Tools/Call' }],
    ['another name', { ...headers, 'mcp-name': 'get_credential' }],
    ['a name in base64 that is another', { ...headers, 'mcp-name': '=?base64?eA==?=' }],
    ['a name in what is no base64', { ...headers, 'mcp-name': '=?base64?d2hvYW1p!?=' }],
    ['two names', { ...headers, 'mcp-name': 'whoami, whoami' }],
  ])('answers headers that contradict the body with -32020 (%s)', async (_name, contradicting) => {
    const answer = await client.raw(body, contradicting);
    expect([answer.status, answer.json.error.code, answer.json.id]).toEqual([400, -32_020, 9]);
  });

  it('takes a name in base64, and spaces around a header', async () => {
    const encoded = `=?base64?${Buffer.from('whoami').toString('base64')}?=`;
    for (const name of [encoded, '  whoami  '])
      expect((await client.raw(body, { ...headers, 'mcp-name': name })).json.result.isError).toBeUndefined();
  });

  it('answers a revision that is not there with -32022 and those that are', async () => {
    const _meta = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const future = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } };
    const answer = await client.raw(future, {
      'mcp-protocol-version': '2099-01-01',
      'mcp-method': 'tools/list',
    });
    expect([answer.status, answer.json.id]).toEqual([400, 1]);
    expect(answer.json.error).toMatchObject({
      code: -32_022,
      data: { supported: ['2026-07-28'], requested: '2099-01-01' },
    });
  });

  it.each([
    ['no envelope', {}],
    [
      'an envelope without capabilities',
      { _meta: { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': undefined } },
    ],
    ['an envelope that is none', { _meta: 7 }],
  ])('answers %s under its header with 400', async (_name, params) => {
    const answer = await client.raw(
      { jsonrpc: '2.0', id: 1, method: 'tools/list', params },
      {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/list',
      },
    );
    expect([answer.status, answer.json.id]).toEqual([400, 1]);
    expect([-32_600, -32_602]).toContain(answer.json.error.code);
  });
});

describe('messages that want no answer', () => {
  // spec: MCP notifications/* messages are accepted as protocol bookkeeping (see Limits).
  it.each([
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['a cancellation', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }],
    ['an unknown notification', { jsonrpc: '2.0', method: 'whatever' }],
    ['a call without an id', { jsonrpc: '2.0', method: 'tools/call', params: { name: 'whoami' } }],
    ['an answer to nothing', { jsonrpc: '2.0', id: 1, result: {} }],
    ['an error to nothing', { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } }],
  ])('%s is 202 without a body', async (_name, message) => {
    for (const headers of [{}, { 'mcp-protocol-version': '2025-11-25' }]) {
      const answer = await client.raw(message, headers);
      expect([answer.status, answer.text, answer.headers.get('content-length')]).toEqual([202, '', '0']);
    }
  });

  it('a notification of 2026-07-28 too', async () => {
    const message = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1, _meta: ENVELOPE },
    };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'notifications/cancelled' };
    expect((await client.raw(message, headers)).status).toBe(202);
  });
});
