import { newKey } from '@svault/shared';
import { beforeAll, describe, expect, it } from 'vitest';
import { byHand } from '../../support/http-by-hand.ts';
import { BASE_URL } from '../../support/management-service.ts';
import { serviceInTest, useService } from '../../support/use-service.ts';
import { ERAS, MCP, inEra, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';

// What stands before the protocol: method, Host, Origin, credential, and what each of them is answered.

const FRIEND = 'https://app.example.com';
const service = useService({ SV_MCP_ALLOWED_ORIGINS: FRIEND });
let apiKey: string;
let url: string;

beforeAll(async () => {
  url = service.running.url + MCP;
  ({ apiKey } = await mcpAgentOn(service));
});

const METADATA = `${BASE_URL}/.well-known/oauth-protected-resource/api/agents/mcp`;
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const ping = (headers: Record<string, string> = {}) =>
  byHand(url, {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${apiKey}`,
      ...headers,
    },
    chunks: [PING],
  });
const but = (text: string): string => text.replace(/req_[\w-]{22}/, 'req_');
const codeOf = ({ text }: { readonly text: string }): unknown => (JSON.parse(text) as { code?: string }).code;

it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])(
  '%s is 405 with Allow, with and without credentials',
  async (method) => {
    for (const headers of [{}, { authorization: `Bearer ${apiKey}`, 'mcp-session-id': 'old' }]) {
      const answer = await byHand(url, { method, headers });
      expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST', 'cache-control': 'no-store' } });
      if (method !== 'HEAD') expect(codeOf(answer)).toBe('METHOD_NOT_ALLOWED');
    }
  },
);

it('a foreign Host is 403 whatever the credential, unless a trusted proxy sends it', async () => {
  expect((await ping({ host: 'localhost' })).status).toBe(200);
  const answer = await ping({ host: 'evil.example' });
  expect([answer.status, codeOf(answer)]).toEqual([403, 'FORBIDDEN']);
  const wrong = await ping({ host: 'evil.example', authorization: `Bearer ${newKey('svagent')}` });
  expect(but(wrong.text)).toBe(but(answer.text));

  const behind = await serviceInTest({ SV_TRUSTED_PROXIES: '127.0.0.1' });
  const agent = await mcpAgentOn(behind);
  const headers = {
    host: 'upstream',
    authorization: `Bearer ${agent.apiKey}`,
    'content-type': 'application/json',
  };
  expect((await byHand(behind.running.url + MCP, { headers, chunks: [PING] })).status).toBe(200);
});

describe('Origin', () => {
  it('none and our own are accepted without CORS, and listed ones with it', async () => {
    for (const headers of [{}, { origin: BASE_URL }]) {
      const answer = await ping(headers);
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    }
    expect(await ping({ origin: FRIEND })).toMatchObject({
      status: 200,
      headers: {
        'access-control-allow-origin': FRIEND,
        'access-control-expose-headers': 'WWW-Authenticate, Mcp-Session-Id',
        vary: 'Origin',
      },
    });
  });

  it.each([
    'null',
    '',
    'https://evil.example',
    'http://app.example.com',
    `${FRIEND}:443`,
    `${FRIEND}.evil.example`,
    `${FRIEND}, ${FRIEND}`,
    'HTTPS://APP.EXAMPLE.COM',
    'http://127.0.0.1:8081',
  ])('%j is rejected with 403 and without CORS', async (origin) => {
    const answer = await ping({ origin });
    expect([answer.status, codeOf(answer)]).toEqual([403, 'FORBIDDEN']);
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('only a listed origin gets a preflight response', async () => {
    const preflight = (origin: string) =>
      byHand(url, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization',
        },
      });
    const answer = await preflight(FRIEND);
    expect(answer).toMatchObject({
      status: 204,
      text: '',
      // GET and DELETE too: the SDKs' clients take their 405 for an answer, and a preflight that fails for an error.
      headers: {
        'access-control-allow-origin': FRIEND,
        'access-control-allow-methods': 'POST, GET, DELETE',
      },
    });
    for (const name of ['authorization', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id'])
      expect(answer.headers['access-control-allow-headers']).toContain(name);
    for (const origin of ['https://evil.example', BASE_URL]) {
      const refused = await preflight(origin);
      expect(refused.status).toBe(405);
      expect(refused.headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it('a page of a listed origin may read errors too', async () => {
    const anonymous = await ping({ origin: FRIEND, authorization: '' });
    expect([anonymous.status, anonymous.headers['access-control-allow-origin']]).toEqual([401, FRIEND]);
  });
});

describe('credentials', () => {
  // spec: Auth is required on every method, including initialize.
  // spec: An unauthenticated or invalid call, including initialize, receives 401 with the header WWW-Authenticate: Bearer resource_metadata=<{base_url}/.well-known/oauth-protected-resource>.
  // spec: OAuth 2.1 flow: the client calls the endpoint without credentials and receives a 401.
  it.each([
    [
      'initialize',
      { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
    ],
    ['tools/list', undefined],
    ['tools/call', { name: 'whoami' }],
    ['ping', undefined],
    ['server/discover', undefined],
    ['notifications/initialized', undefined],
    ['nothing/known', undefined],
  ] as const)('are asked for by %s, in both eras', async (method, params) => {
    for (const era of ERAS) {
      const answer = await mcpClientOf(service, undefined).request(era, method, params);
      expect([answer.status, answer.json.code]).toEqual([401, 'MISSING_KEY']);
      expect(answer.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${METADATA}"`);
    }
  });

  it('credentials are checked before the body', async () => {
    const client = mcpClientOf(service, undefined);
    for (const body of ['', 'no json', '[]', 'x'.repeat(2_000_000)])
      expect((await client.raw(body)).status).toBe(401);
    const unknown = mcpClientOf(service, newKey('svagent'));
    for (const body of ['', 'no json', '[]', '{"jsonrpc":"2.0"}'])
      expect([(await unknown.raw(body)).json.code]).toEqual(['INVALID_KEY']);
  });

  it('the key of a proxy is told where it belongs', async () => {
    const answer = await ping({ authorization: `Bearer ${newKey('mcp')}` });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      401,
      expect.objectContaining({
        error: expect.stringContaining('the key of a proxy (mcp_…), for /api/proxy/mcp'),
        code: 'INVALID_KEY',
      }),
    ]);
  });

  it.each([
    ['an unknown key', () => newKey('svagent')],
    ['an unknown session token', () => newKey('svsess')],
    ['an admin key', () => service.place.adminKey],
    ['a key and more', () => `${apiKey} x`],
  ])('%s is 401 with error="invalid_token"', async (_name, token) => {
    const answer = await ping({ authorization: `Bearer ${token()}` });
    expect([answer.status, codeOf(answer)]).toEqual([401, 'INVALID_KEY']);
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${METADATA}", error="invalid_token"`,
    );
  });

  it('x-agent-key and a token in the query are no credentials', async () => {
    const answer = await byHand(`${url}?key=${apiKey}&access_token=${apiKey}`, {
      headers: { 'content-type': 'application/json', 'x-agent-key': apiKey },
      chunks: [PING],
    });
    expect([answer.status, codeOf(answer)]).toEqual([401, 'MISSING_KEY']);
  });
});

describe('denied agents', () => {
  // spec: The agent must have MCP enabled.
  it('403 MCP_DISABLED while MCP is off, for every message', async () => {
    const { json } = await service.admin('POST', '/api/agents', { body: { name: 'off' } });
    const client = mcpClientOf(service, json.apiKey);
    for (const era of ERAS)
      for (const method of ['initialize', 'tools/list', 'notifications/initialized']) {
        const answer = await client.request(era, method);
        expect([answer.status, answer.json.code]).toEqual([403, 'MCP_DISABLED']);
      }
    expect((await client.raw('no json')).status).toBe(403);
    await service.admin('PATCH', `/api/agents/${json.agent.id}`, { body: { mcpEnabled: true } });
    expect((await client.call2025('whoami')).status).toBe(200);
  });

  it('403 AGENT_INACTIVE when suspended or deleted, until it is resumed', async () => {
    const agent = await mcpAgentOn(service);
    const client = mcpClientOf(service, agent.apiKey);
    const stands = async () => {
      const { answer } = await client.call2026('whoami');
      return [answer.status, answer.json.code];
    };
    await service.admin('POST', `/api/agents/${agent.id}/suspend`);
    expect(await stands()).toEqual([403, 'AGENT_INACTIVE']);
    await service.admin('POST', `/api/agents/${agent.id}/resume`);
    expect(await stands()).toEqual([200, undefined]);
    await service.admin('DELETE', `/api/agents/${agent.id}`);
    expect(await stands()).toEqual([403, 'AGENT_INACTIVE']);
  });
});

describe('every response', () => {
  it('is not cached, cannot be framed, and declares its length', async () => {
    const { headers, body } = inEra('2025-11-25', 'tools/list', undefined, 1);
    const client = mcpClientOf(service, apiKey);
    const anonymous = mcpClientOf(service, undefined);
    for (const answer of [
      await client.raw(body, headers),
      await client.raw('x'),
      await anonymous.raw(body),
    ]) {
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(answer.text)));
      expect(answer.headers.has('mcp-session-id')).toBe(false);
    }
  });
});
