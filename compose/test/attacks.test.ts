import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomToken } from '@svault/shared';
import { rawRequest } from '@svault/test-kit/raw-http';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { storeCredential } from '../src/admin-client.ts';
import { type Pair, startPair } from '../src/pair.ts';

// Attacks from outside on the pair that `npm start` runs, which must not work.

/** An MCP server under an attacker's control. Each path misbehaves in one way. */
const PATHS: Readonly<Record<string, (req: IncomingMessage, res: ServerResponse) => void>> = {
  '/reflect': ({ headers }, res) => res.writeHead(200, { 'x-reflected': headers['x-guess'] ?? '' }).end('{}'),
  '/redirect': (_, res) => res.writeHead(307, { location: 'https://elsewhere.example/mcp' }).end(),
  '/unauthorized': (_, res) =>
    res.writeHead(401, { 'www-authenticate': 'Bearer resource_metadata="https://elsewhere.example/"' }).end(),
  // The HTTP+SSE transport of MCP 2024-11-05, which this stream never leaves.
  '/sse': (_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('event: endpoint\ndata: /messages?session=1\n\n');
  },
};

const dir = tempDir();
const upstream = createServer((req, res) => {
  req.resume();
  PATHS[req.url ?? '']?.(req, res);
});
let pair: Pair;
let upstreamHost: string;
beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  upstreamHost = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  pair = await startPair({ dir: dir.path });
});
afterAll(async () => {
  upstream.closeAllConnections();
  upstream.close();
  await pair?.stop();
  dir.remove();
});

describe('a stranger without any key', () => {
  const SIGNATURE_BY_CODE =
    'sv=("@method" "@authority" "@path" "@query" "content-type" "content-digest");created=1;expires=2;nonce="AAECAwQFBgcICQoLDA0ODw";keyid="bind";alg="hmac-sha256";tag="sv-webhook-v1"';

  test.each(['/v1/exchange', '/v1/storage', '/v1/store', '/v1/proxy', '/v1/refresh'])(
    'is refused at POST %s before a byte of the announced body is sent',
    async (path) => {
      const zeros = Buffer.alloc(32).toString('base64');
      const head = [
        `POST ${path} HTTP/1.1`,
        `Host: ${new URL(pair.webhookUrl).host}`,
        'Content-Type: application/json',
        'Content-Length: 4096',
        `Content-Digest: sha-256=:${zeros}:`,
        `Signature-Input: ${SIGNATURE_BY_CODE}`,
        `Signature: sv=:${zeros}:`,
        '\r\n',
      ];
      expect([401, 413, 429]).toContain((await rawRequest(pair.webhookUrl, [head.join('\r\n')])).status);
    },
  );

  test('cannot make the control plane parse a large body at the sign-in', async () => {
    const { controlPlaneUrl } = pair;
    const { host } = new URL(controlPlaneUrl);
    const head = `POST /api/login/link HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${controlPlaneUrl}\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n`;
    expect((await rawRequest(controlPlaneUrl, [head])).status).toBe(413);
  });

  test('gets an error from the token endpoint, where a client cannot authenticate', async () => {
    const answer = await fetch(`${pair.controlPlaneUrl}/api/mcp-oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('client:secret')}` },
      body: new URLSearchParams({ grant_type: 'authorization_code', code: 'x' }),
    });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
    expect(await answer.json()).toMatchObject({ error: 'invalid_client' });
  });

  test('is led to the metadata of the MCP endpoint by its path', async () => {
    const answer = await fetch(`${pair.controlPlaneUrl}/api/agents/mcp`, { method: 'POST' });
    expect(answer.headers.get('www-authenticate')).toContain(
      `resource_metadata="${pair.controlPlaneUrl}/.well-known/oauth-protected-resource/api/agents/mcp"`,
    );
  });
});

/** A call of the hostile upstream through a proxy of a new credential. @throws Error where the webhook does not store it */
async function proxied(path: string, settings: object = {}, method = 'POST'): Promise<Response> {
  const serviceName = `service-${randomToken()}`;
  await storeCredential(pair.admin, serviceName, {
    tokenType: 'PlainText',
    value: `secret-${randomToken()}`,
    allowedHosts: [`http://${upstreamHost}`],
    ...settings,
  });
  const proxy = { name: serviceName, upstreamUrl: `http://${upstreamHost}${path}`, serviceName };
  const { key } = await pair.admin.call<{ key: string }>('POST', '/api/proxies', proxy);
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } };
  return fetch(`${pair.controlPlaneUrl}/api/proxy/mcp`, {
    method,
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    ...(method === 'POST' && { body: JSON.stringify(message) }),
  });
}

describe('an agent with a proxy key', () => {
  test('never has a one-time code injected, which a reflected header would reveal', async () => {
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    const call = proxied('/reflect', { tokenType: 'TOTP', value: undefined, secret });
    await expect(call).rejects.toThrow(/allowShortSecret/);
  });

  test.each([
    [
      'have a credential called by plain http whose owner allowed the bare host',
      '/reflect',
      'DESTINATION_NOT_ALLOWED',
    ],
    ['follow an upstream to another origin with the proxy key', '/redirect', 'UPSTREAM_REDIRECT'],
    ['be sent to sign in elsewhere by an upstream', '/unauthorized', 'UPSTREAM_UNAUTHORIZED'],
    ['use an upstream whose transport no proxy serves', '/sse', 'UPSTREAM_UNSUPPORTED'],
  ])('cannot %s', async (_what, path, code) => {
    const allowedHosts = [path === '/reflect' ? upstreamHost : `http://${upstreamHost}`];
    const answer = await proxied(path, { allowedHosts }, path === '/sse' ? 'GET' : 'POST');
    for (const name of ['location', 'www-authenticate']) expect(answer.headers.get(name)).toBeNull();
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ code });
  });
});

test('an agent can fetch a credential without following a redirect with its key', async () => {
  const { admin, controlPlaneUrl } = pair;
  const serviceName = `service-${randomToken()}`;
  const value = `secret-${randomToken()}`;
  await storeCredential(admin, serviceName, { tokenType: 'PlainText', value });
  const body = { name: serviceName };
  const made = await admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', body);
  await admin.call('POST', `/api/agents/${made.agent.id}/grants`, { serviceName });
  const asked = await fetch(`${controlPlaneUrl}/api/agents/credentials?service=${serviceName}`, {
    headers: { authorization: `Bearer ${made.apiKey}`, accept: 'application/json' },
    redirect: 'error',
  });
  expect(asked.status).toBe(200);
  const { url, method } = (await asked.json()) as { url: string; method: string };
  expect(await (await fetch(url, { method })).json()).toMatchObject({ token: { accessToken: value } });
});
