import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { formatTime } from '@svault/shared';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type TokenEndpoint, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { PROXY, type TestProxy, codeOf, proxyOn } from '../support/proxy-steps.ts';

// Both hops with the reference webhook.

const SECRET = 'canary/of a proxied credential: 100%';
let service: PairedService;
let owner: Parameters<typeof proxyOn>[0];
let provider: TokenEndpoint;
let proxy: TestProxy;
let upstream: PlainUpstream;
let upstreamUrl: string;
let seen: { method: string | undefined; headers: IncomingHttpHeaders; body: Buffer; req: IncomingMessage }[];
let answering: (res: ServerResponse, headers: IncomingHttpHeaders) => void;

beforeAll(async () => {
  upstream = await startPlainUpstream(async (req, res) => {
    seen.push({ method: req.method, headers: req.headers, body: await buffer(req), req });
    answering(res, req.headers);
  });
  upstreamUrl = upstream.url;
  [service, provider] = await Promise.all([startPairedService({ logLevel: 'trace' }), startTokenEndpoint()]);
  owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  await storeOn(service.pair, 'github', {
    tokenType: 'PlainText',
    value: SECRET,
    allowedHosts: [upstream.origin],
  });
  proxy = await proxyOn(owner, { upstreamUrl });
});
afterAll(async () => {
  await service.stop();
  await Promise.all([upstream.close(), provider.close()]);
});
beforeEach(() => {
  service.clock.advance(60_000);
  seen = [];
  answering = (res) => void res.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
});

const opened = (method = 'GET') =>
  request(owner.running.url + PROXY, { method, headers: { 'x-mcp-key': proxy.key }, agent: false }).end();

// spec: Methods GET, DELETE and OPTIONS are also handled. A GET is the SSE transport probe.
it('the upstream gets the request with the credential, which the control plane never has', async () => {
  const body = Buffer.from(Array.from({ length: 3 * 1024 * 1024 }, (_, at) => at % 251));
  for (const method of ['POST', 'DELETE', 'OPTIONS']) {
    const answer = await proxy.call(method, {
      rawBody: body,
      headers: { 'mcp-protocol-version': '2025-11-25' },
    });
    expect([answer.status, answer.text]).toEqual([200, '{"ok":true}']);
  }
  await proxy.call('GET');
  expect(seen.map(({ method }) => method)).toEqual(['POST', 'DELETE', 'OPTIONS', 'GET']);
  expect(seen.slice(0, 3).every((each) => each.body.equals(body))).toBe(true);
  for (const { headers } of seen) {
    expect(headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(JSON.stringify(headers)).not.toContain(proxy.key);
  }
  expect(tracesOf(SECRET, service.pair.recorded())).toEqual([]);
});

// spec: It calls the upstream service, and the service streams the response back.
it('an event passes both hops before the next one is sent, and a disconnect reaches the upstream', async () => {
  const began = new Promise<ServerResponse>((resolve) => {
    answering = (res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      resolve(res);
    };
  });
  const sent = opened();
  const [res] = (await once(sent, 'response')) as [IncomingMessage];
  const from = await began;
  const events = res[Symbol.asyncIterator]();
  for (let n = 0; n < 10; n++) {
    from.write(`data: ${n}\n\n`);
    expect(String((await events.next()).value)).toBe(`data: ${n}\n\n`);
  }
  sent.destroy();
  await once(from, 'close');
  expect(from.writableFinished).toBe(false);
});

it('changed settings apply to the next request', async () => {
  const moved = await proxyOn(owner, { upstreamUrl });
  await moved.send('tools/call');
  await service.admin('PATCH', `/api/proxies/${moved.id}`, {
    body: { upstreamUrl: `${upstreamUrl}/moved`, headerTemplates: { 'x-api-key': '$<TOKEN>' } },
  });
  await moved.send('tools/call');
  expect(seen.map(({ req, headers }) => [req.url, headers.authorization, headers['x-api-key']])).toEqual([
    ['/mcp', `Bearer ${SECRET}`, undefined],
    ['/mcp/moved', undefined, SECRET],
  ]);
});

it('a token that only the control plane can refresh is refreshed once for all waiting calls, which are made once more', async () => {
  provider.register({ id: 'ours', method: 'client_secret_basic', secret: 'of the client' });
  const settings = { name: 'p', tokenUrl: provider.url, clientId: 'ours', clientSecret: 'of the client' };
  const made = await service.admin('POST', '/api/providers', {
    body: { ...settings, authMethod: 'client_secret_basic' },
  });
  expect(made.status).toBe(201);
  const { accessToken, refreshToken } = provider.grant('ours');
  await storeOn(service.pair, 'mediated', {
    tokenType: 'JWT',
    accessToken,
    refreshToken,
    expiryTime: formatTime(service.clock.now() - 1_000),
    provider: { tokenUrl: provider.url, clientId: 'ours', mediated: true },
    allowedHosts: [upstream.origin],
  });
  const expired = await proxyOn(owner, { serviceName: 'mediated', upstreamUrl });
  const said = await Promise.all(Array.from({ length: 10 }, () => expired.send('tools/call')));
  expect(said.map(codeOf)).toEqual(said.map(() => [200, undefined]));
  expect(provider.calls).toHaveLength(1);
  const shown = new Set(seen.map(({ headers }) => headers.authorization));
  expect([shown.size, shown.has(`Bearer ${accessToken}`)]).toEqual([1, false]);
  expect(seen).toHaveLength(10);
});

it('no key and no credential is in a log, not even from the query', async () => {
  await service.anyone('POST', `${PROXY}?key=${proxy.key}`, { body: {} });
  await proxy.send('tools/call');
  answering = (res) => void res.destroy();
  expect(codeOf(await proxy.send('tools/call'))).toEqual([502, 'UPSTREAM_ERROR']);
  for (const program of ['control-plane', 'webhook'] as const) {
    const log = service.pair.logOf(program);
    expect(log.length).toBeGreaterThan(0);
    expect(log).not.toContain(proxy.key);
    expect(tracesOf(SECRET, Buffer.from(log))).toEqual([]);
  }
});

it('GET /api/reach and POST /api/reach/matrix deny with what a call is denied with: an upstream or header that is not sealed', async () => {
  const elsewhere = await proxyOn(owner, { upstreamUrl: 'https://elsewhere.example.com/mcp' });
  const stray = await proxyOn(owner, { upstreamUrl, headerTemplates: { 'x-other': '${TOKEN}' } });
  const of = [proxy, elsewhere, stray];
  const asked = await Promise.all(
    of.map(async ({ id, send }) => {
      const { json } = await service.admin('GET', `/api/reach?proxyId=${id}`);
      const [, code] = codeOf(await send('tools/list'));
      return [json.items[0].channels, code ?? null];
    }),
  );
  const denials = [null, 'DESTINATION_NOT_ALLOWED', 'DESTINATION_NOT_ALLOWED'];
  expect(asked).toEqual(denials.map((denial) => [[{ channel: 'proxy', denial }], denial]));
  const body = { callerIds: of.map(({ id }) => id), serviceNames: ['github'] };
  const { json } = await service.admin('POST', '/api/reach/matrix', { body });
  expect(json).toEqual({ rows: [['allowed'], ['denied'], ['denied']] });
});
