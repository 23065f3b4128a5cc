import { once } from 'node:events';
import { type ServerResponse, request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ProxiedCall, echo } from '../support/faulty-webhook.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import type { Answer } from '../support/management-service.ts';
import { PROXY, type TestProxy, codeOf, message, proxyByHand, proxyOn } from '../support/proxy-steps.ts';

// Requests to `/v1/proxy` and their responses (PROTOCOL.md sections 2 and 5.6), at a scripted webhook.

let service: LinkedService;
let proxy: TestProxy;
let calls: ProxiedCall[];
let answering: (call: ProxiedCall, res: ServerResponse) => void;

beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
  proxy = await proxyOn(service);
});
afterAll(() => service.stop());
beforeEach(() => {
  service.clock.advance(60_000);
  calls = [];
  answering = echo;
  service.webhook.fault = undefined;
  service.webhook.onProxy = (call, res) => {
    calls.push(call);
    answering(call, res);
  };
});

/** An answer of the upstream, or of the webhook itself. */
const answer =
  (status: number, body: string | object = '', headers: object = {}, origin = 'upstream') =>
  (_call: ProxiedCall, res: ServerResponse): void => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    res.writeHead(status, { 'sv-proxy-origin': origin, ...headers }).end(text);
  };
const refused = (status: number, code: string, headers: object = {}) =>
  answer(status, { error: `secret words of ${code}`, code }, headers, 'webhook');
const ask = (): Promise<Answer> => proxy.send('tools/call', { name: 'x' }, 'my id');
/** Its answer ends an outage. */
const lookAtWebhook = (): Promise<Answer> => service.admin('GET', '/api/webhook');
const isOffline = async (): Promise<boolean> => {
  answering = echo;
  const { status } = await proxy.call('GET');
  await lookAtWebhook();
  return status === 502;
};

describe('a request to the webhook', () => {
  // spec: and forwards the request to {webhook_url}/v1/proxy with a signed ticket.
  // spec: A JSON-RPC batch body is passed through as it stands.
  it('has the body byte for byte, with a signed ticket for its method', async () => {
    const batch = ` [ {"jsonrpc":"2.0","method":"x","id":1e0} ,\n{"a":1,"a":2}]\u0000é`;
    for (const method of ['POST', 'DELETE', 'OPTIONS'])
      await proxy.call(method, { rawBody: batch, headers: { 'content-type': 'application/json; a="b"' } });
    await proxy.call('GET');
    expect(calls.map(({ ticket }) => ticket['htm'])).toEqual(['POST', 'DELETE', 'OPTIONS', 'GET']);
    expect(calls.map(({ body }) => body.toString())).toEqual([batch, batch, batch, '']);
    for (const { ticket, coversTicket, req } of calls) {
      expect([req.method, req.url, coversTicket]).toEqual(['POST', '/v1/proxy', true]);
      expect(ticket).toMatchObject({ op: 'proxy', svc: 'github', prx: proxy.id, sub: proxy.id });
      expect(ticket).toMatchObject({ aud: service.webhook.webhookId, iss: 'http://127.0.0.1:8080' });
      expect(Number(ticket['exp']) - Number(ticket['iat'])).toBe(60);
    }
    const nonces = calls.map(
      ({ headers }) => /nonce="([^"]+)"/.exec(String(headers['signature-input']))?.[1],
    );
    expect(new Set([...nonces, ...calls.map(({ ticket }) => ticket['jti'])]).size).toBe(8);
  });

  it('has up to 8 MiB', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 'x');
    expect((await proxy.call('POST', { rawBody: body })).status).toBe(200);
    expect(calls[0]?.body.equals(body)).toBe(true);
    const more = await proxy.call('POST', { rawBody: Buffer.alloc(8 * 1024 * 1024 + 1) });
    expect(codeOf(more)).toEqual([413, 'TOO_LARGE']);
    expect(calls).toHaveLength(1);
  });

  it('has the end-to-end headers, and neither keys nor cookies', async () => {
    const travelling = {
      accept: 'text/event-stream',
      'accept-language': 'de',
      'content-type': 'application/json',
      'user-agent': 'me',
      'mcp-protocol-version': '2025-11-25',
      'last-event-id': '7',
      'mcp-method': 'tools/call',
      'mcp-name': 'x',
      'mcp-param-region': 'eu',
      traceparent: '00-a-b-01',
      tracestate: 'a=b',
    };
    const staying = {
      cookie: 'a=b',
      'x-api-key': 'k',
      'x-forwarded-for': '192.0.2.1',
      forwarded: 'for=x',
      origin: 'http://127.0.0.1:8080',
      'sv-ticket': 'forged',
      'sv-proxy-origin': 'upstream',
      'content-digest': 'sha-256=:x:',
      signature: 'sv=:x:',
      te: 'trailers',
      'mcp-secret': 'x',
      'accept-encoding': 'gzip',
      authorization: `Bearer ${proxy.key}`,
      'x-mcp-key': 'mcp_x',
      connection: 'keep-alive, mcp-param-dropped',
      'mcp-param-dropped': 'x',
    };
    answering = answer(200, '', { 'mcp-session-id': 's' });
    const session = { 'mcp-session-id': (await ask()).headers.get('mcp-session-id') ?? '' };
    calls.length = 0;
    await proxyByHand(service.running.url, {
      headers: { ...staying, ...travelling, ...session },
      chunks: ['{}'],
    });
    const [{ headers } = { headers: {} }] = calls;
    expect(headers).toMatchObject({ ...travelling, 'mcp-session-id': 's' });
    const ours = ['content-digest', 'content-length', 'host', 'signature', 'signature-input', 'sv-ticket'];
    const further = Object.keys(headers).filter(
      (name) => !(name in { ...travelling, ...session, connection: '' }),
    );
    expect(further.toSorted()).toEqual(ours);
    expect(JSON.stringify(headers)).not.toContain(proxy.key);
  });

  it('has a content type where the caller gave none, one of two, and no malformed value', async () => {
    const headers = { authorization: `Bearer ${proxy.key}` };
    await proxyByHand(service.running.url, { headers, chunks: ['x'] });
    await proxyByHand(service.running.url, {
      headers: { ...headers, 'content-type': ['a/b', 'c/d'] as never, 'user-agent': 'caf\u00e9' },
      chunks: ['x'],
    });
    expect(calls.map((call) => call.headers['content-type'])).toEqual(['application/octet-stream', 'a/b']);
    expect(calls[1]?.headers['user-agent']).toBeUndefined();
  });

  it('has no query: a key there authenticates nobody and is not forwarded', async () => {
    const headers = { 'content-type': 'application/json' };
    const url = `${service.running.url}${PROXY}?key=${proxy.key}&a=b`;
    const without = await fetch(url, { method: 'POST', body: '{}', headers });
    expect([without.status, await without.json()]).toMatchObject([401, { code: 'MISSING_KEY' }]);
    await fetch(url, { method: 'POST', body: '{}', headers: { ...headers, 'x-mcp-key': proxy.key } });
    expect(calls.map(({ req }) => req.url)).toEqual(['/v1/proxy']);
  });
});

describe('a response to the caller', () => {
  it.each([200, 201, 202, 204, 206, 300, 304, 308, 400, 403, 404, 405, 409, 418, 422, 429, 500])(
    'status %i of the upstream as it is',
    async (status) => {
      answering = answer(status, status === 204 || status === 304 ? '' : 'said', { 'x-said': 'too' });
      const { status: said, text, headers } = await ask();
      expect([said, headers.get('x-said')]).toEqual([status, 'too']);
      expect(text).toBe(status === 204 || status === 304 ? '' : 'said');
    },
  );

  it('has the status of the upstream’s gateway, which does not make the webhook offline', async () => {
    for (const status of [502, 503, 504]) {
      answering = answer(status, 'no json');
      expect([(await ask()).status, (await ask()).text]).toEqual([status, 'no json']);
    }
    expect(await isOffline()).toBe(false);
  });

  it('has the upstream’s end-to-end headers, and the proxy’s in place of some', async () => {
    const travelling = {
      'content-type': 'text/html',
      'x-anything': 'a, b',
      etag: '"x"',
      'retry-after': '7',
    };
    const staying = {
      'set-cookie': ['a=b', 'c=d'],
      'www-authenticate': 'Bearer',
      'proxy-authenticate': 'Basic',
      'clear-site-data': '"*"',
      'strict-transport-security': 'max-age=1',
      'access-control-allow-origin': '*',
      'alt-svc': 'h3=":1"',
      refresh: '0; url=https://evil.example',
      'report-to': '{}',
      nel: '{}',
      'service-worker-allowed': '/',
      'sv-anything': 'x',
      'keep-alive': 'timeout=9',
      'x-named': 'x',
      connection: 'close, X-Named',
    };
    const ours = {
      'x-content-type-options': 'sniff',
      'content-security-policy': 'default-src *',
      'cache-control': 'public, max-age=9',
    };
    answering = answer(200, 'body', { ...travelling, ...staying, ...ours });
    const { headers } = await ask();
    expect(Object.fromEntries(headers)).toMatchObject({
      ...travelling,
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
      'cache-control': 'no-store',
    });
    for (const name of Object.keys(staying).filter((each) => !['connection', 'keep-alive'].includes(each)))
      expect(headers.has(name)).toBe(false);
    expect(headers.has('sv-proxy-origin')).toBe(false);
  });

  it('has no content-length without a body', async () => {
    answering = ({ req }) =>
      void req.socket.end(
        'HTTP/1.1 204 Nothing\r\nsv-proxy-origin: upstream\r\ncontent-length: 5\r\netag: "x"\r\n\r\n',
      );
    const { status, headers } = await ask();
    expect([status, headers.get('etag'), headers.get('content-length')]).toEqual([204, '"x"', null]);
  });

  it('has headers byte for byte', async () => {
    answering = ({ req }) =>
      void req.socket.end(
        Buffer.from(
          'HTTP/1.1 299 Fine\r\nsv-proxy-origin: upstream\r\nx-name: caf\u00e9\r\ncontent-length: 0\r\n\r\n',
          'latin1',
        ),
      );
    const { status, headers } = await proxyByHand(service.running.url, {
      headers: { 'x-mcp-key': proxy.key },
    });
    expect([status, headers['x-name']]).toEqual([299, 'caf\u00e9']);
  });
});

describe("the webhook's own refusals", () => {
  it.each([
    [400, 'INVALID_REQUEST', 502],
    [403, 'DESTINATION_NOT_ALLOWED', 502],
    [404, 'NOT_FOUND', 502],
    [413, 'TOO_LARGE', 413],
    [422, 'EMPTY_TOKEN', 502],
    [422, 'MINT_FAILED', 502],
    [422, 'NOT_INJECTABLE', 502],
    [422, 'REAUTH_NEEDED', 502],
    [500, 'INTERNAL', 502],
    [502, 'PROVIDER_ERROR', 502],
    [502, 'UPSTREAM_ERROR', 502],
    [503, 'UNAVAILABLE', 502],
    [504, 'PROVIDER_TIMEOUT', 504],
    [504, 'UPSTREAM_TIMEOUT', 504],
  ])('%i %s is answered %i with its code and the control plane’s text', async (status, code, expected) => {
    answering = refused(status, code);
    for (const asked of [await ask(), await proxy.call('GET')]) {
      expect([asked.status, asked.json]).toEqual([expected, { error: expect.any(String), code }]);
      expect(asked.json.error).toMatch(/try again|owner|too large/);
      expect(asked.text).not.toContain('secret words');
      expect(asked.headers.get('cache-control')).toBe('no-store');
    }
    expect(calls).toHaveLength(2);
    expect(await isOffline()).toBe(false);
  });

  it('a cause is told in the control plane’s words, and nothing else of the refusal is passed on', async () => {
    const because = (code: string, members: object) =>
      answer(403, { error: 'planted words', code, ...members }, {}, 'webhook');
    const said = async (code: string, members: object): Promise<string> => {
      answering = because(code, members);
      const { json, text } = await ask();
      expect(text).not.toMatch(/planted|<b>/);
      return json.error;
    };
    expect(await said('UPSTREAM_ERROR', { cause: 'dns', host: 'planted.test' })).toBe(
      'The webhook could not reach mcp.example.com: its name did not resolve.',
    );
    expect(await said('DESTINATION_NOT_ALLOWED', { cause: 'header', header: '<b>planted</b>' })).toBe(
      'Header `authorization` is not an allowed header of `github`. Its owner runs `svault set github --allow-host mcp.example.com --allow-header authorization`, which replaces the allowed hosts and asks for the secret again.',
    );
    for (const cause of ['<b>', 'toString', '__proto__', 7, null, ['dns']])
      expect(await said('UPSTREAM_ERROR', { cause })).toBe(
        'The webhook got no answer from mcp.example.com; try again later.',
      );
    expect(await said('EMPTY_TOKEN', { cause: 'dns' })).toMatch(/^The credential is empty/);
  });

  it('429 is a limiter denial in both forms, without a strike', async () => {
    answering = refused(429, 'RATE_LIMITED', { 'retry-after': '9' });
    const post = await ask();
    expect([post.status, post.headers.get('retry-after'), post.json]).toEqual([
      429,
      '9',
      {
        jsonrpc: '2.0',
        id: 'my id',
        error: { code: -32_029, message: expect.any(String), data: { code: 'RATE_LIMITED', retryAfter: 9 } },
      },
    ]);
    const get = await proxy.call('GET');
    expect([get.status, get.headers.get('retry-after'), get.json]).toEqual([
      429,
      '9',
      { error: expect.any(String), code: 'RATE_LIMITED', retryAfter: 9 },
    ]);
    answering = refused(429, 'RATE_LIMITED', { 'retry-after': 'Fri, 20 Nov 2026 12:00:00 GMT' });
    expect((await ask()).json.error.data.retryAfter).toBe(1);
    expect((await service.admin('GET', '/api/limits/lockouts')).json.items).toEqual([]);
  });

  it('401 is not passed to the caller', async () => {
    answering = refused(401, 'TICKET_INVALID');
    expect(codeOf(await ask())).toEqual([502, 'WEBHOOK_UNAVAILABLE']);
    expect(await isOffline()).toBe(false);
  });

  it('404 delivers the settings again with the next request', async () => {
    const puts = () => service.webhook.served.filter(({ op }) => op === 'proxies.put').length;
    const before = puts();
    answering = refused(404, 'NOT_FOUND');
    await ask();
    expect([calls.length, puts()]).toEqual([1, before]);
    answering = echo;
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(200);
    expect(puts()).toBe(before + 1);
  });
});

it('nothing is forwarded while the webhook refuses the proxy’s settings', async () => {
  answering = refused(404, 'NOT_FOUND');
  await ask();
  calls = [];
  answering = echo;
  service.webhook.fault = (_path, body) =>
    body.includes('proxies.put')
      ? { status: 400, body: '{"error":"secret words","code":"INVALID_REQUEST"}' }
      : undefined;
  const said = await ask();
  expect([codeOf(said), calls]).toEqual([[502, 'INVALID_REQUEST'], []]);
  expect(said.text).not.toContain('secret words');
  service.webhook.fault = (_path, body) => (body.includes('proxies.') ? 'break' : undefined);
  expect([codeOf(await ask()), calls]).toEqual([[502, 'WEBHOOK_UNAVAILABLE'], []]);
  service.webhook.fault = undefined;
  await lookAtWebhook();
  expect([(await ask()).status, calls.length]).toEqual([200, 1]);
});

describe('an answer of neither webhook nor upstream', () => {
  const page = '<html>tunnel error</html>';
  it.each<readonly [string, (call: ProxiedCall, res: ServerResponse) => void, boolean]>([
    ['a tunnel’s page', (_call, res) => void res.writeHead(200).end(page), false],
    ['a tunnel’s 404', (_call, res) => void res.writeHead(404).end(page), false],
    ['a tunnel’s 502', (_call, res) => void res.writeHead(502).end(page), true],
    ['a tunnel’s 503', (_call, res) => void res.writeHead(503).end('{"code":7}'), true],
    ['a 503 with a code', (_call, res) => void res.writeHead(503).end('{"code":"UNAVAILABLE"}'), false],
    [
      'an origin that is said twice',
      answer(200, page, { 'sv-proxy-origin': ['upstream', 'upstream'] as never }),
      false,
    ],
    ['another origin', answer(200, page, {}, 'me'), false],
    ['a refusal without a code', answer(403, page, {}, 'webhook'), false],
    ['a refusal with an unknown code', refused(403, 'MADE_UP'), false],
    ['a refusal with status 200', refused(200, 'NOT_FOUND'), false],
    [
      'a refusal without an end',
      (_call, res) => void res.writeHead(403, { 'sv-proxy-origin': 'webhook' }).end('x'.repeat(100_000)),
      false,
    ],
    ['a header of 40 KB', answer(200, '', { 'x-long': 'x'.repeat(40_000) }), false],
    [
      '300 headers',
      answer(200, '', Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`x-${n}`, 'x']))),
      false,
    ],
    ['an answer that is not HTTP', ({ req }) => void req.socket.end('nonsense\r\n\r\n'), false],
    ['a broken connection', ({ req }) => void req.socket.destroy(), true],
  ])('with %s is 502 WEBHOOK_UNAVAILABLE, without a retry', async (_what, how, offline) => {
    answering = how;
    const said = await ask();
    expect(codeOf(said)).toEqual([502, 'WEBHOOK_UNAVAILABLE']);
    expect(said.text).not.toContain('tunnel');
    expect(calls).toHaveLength(1);
    expect(await isOffline()).toBe(offline);
  });

  // spec: Webhook offline: 502 with code WEBHOOK_UNAVAILABLE.
  // spec: and proxy requests then return 503.
  it('while the webhook is offline is 502 with Retry-After, logged and without a call', async () => {
    service.webhook.fault = (path) => (path === '/v1/proxy' ? 'break' : undefined);
    expect(codeOf(await ask())).toEqual([502, 'WEBHOOK_UNAVAILABLE']);
    service.webhook.fault = undefined;
    const known = await ask();
    expect([codeOf(known), known.headers.get('retry-after')]).toEqual([[502, 'WEBHOOK_UNAVAILABLE'], '2']);
    expect(known.json).toMatchObject({ retryAfter: 2 });
    expect(calls).toEqual([]);
    await lookAtWebhook();
    expect((await ask()).status).toBe(200);
  });

  it('ends once the webhook listens again', async () => {
    await service.webhook.shut();
    expect(codeOf(await ask())).toEqual([502, 'WEBHOOK_UNAVAILABLE']);
    await service.webhook.open();
    await lookAtWebhook();
    expect((await ask()).status).toBe(200);
  });
});

describe('a stream through the proxy', () => {
  /** A request whose answer is read by hand. */
  const open = (method = 'GET') => {
    const sent = request(service.running.url + PROXY, {
      method,
      headers: { 'x-mcp-key': proxy.key },
      agent: false,
    });
    sent.end();
    return sent;
  };
  const streaming = (): Promise<ServerResponse> =>
    new Promise((resolve) => {
      answering = (_call, res) => {
        res.writeHead(200, { 'sv-proxy-origin': 'upstream', 'content-type': 'text/event-stream' });
        res.flushHeaders();
        resolve(res);
      };
    });

  it('ends the call when the client disconnects, before and during the answer', async () => {
    const began = new Promise<ProxiedCall>((resolve) => (answering = resolve));
    const waiting = open('POST');
    waiting.on('error', () => undefined);
    const { req } = await began;
    waiting.destroy();
    await once(req.socket, 'close');

    const upstream = streaming();
    const sent = open();
    await once(sent, 'response');
    const from = await upstream;
    sent.destroy();
    await once(from, 'close');
    expect(await isOffline()).toBe(false);
  });

  it('breaks off for the client when the upstream breaks off', async () => {
    for (const headers of [{}, { 'content-length': '100' }]) {
      answering = (_call, res) => {
        res.writeHead(200, { 'sv-proxy-origin': 'upstream', ...headers });
        res.write('half', () => res.destroy());
      };
      await expect(ask()).rejects.toThrow();
    }
    expect(calls).toHaveLength(2);
    answering = echo;
    expect((await ask()).status).toBe(200);
  });

  it('is one of 64 at once for a proxy; the next is a limiter denial, without a strike or a log line each', async () => {
    const held: ServerResponse[] = [];
    const all = new Promise<void>((resolve) => {
      answering = (_call, res) => {
        res.writeHead(200, { 'sv-proxy-origin': 'upstream' }).flushHeaders();
        if (held.push(res) === 64) resolve();
      };
    });
    const clients = Array.from({ length: 64 }, () => open());
    await all;
    const post = await ask();
    expect([post.status, post.json.id, post.json.error.data]).toEqual([
      429,
      'my id',
      { code: 'RATE_LIMITED', retryAfter: 1 },
    ]);
    expect((await proxy.call('GET')).json).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 1 });
    const other = await proxyOn(service);
    held[0]?.end();
    held[1]?.destroy();
    clients[2]?.destroy();
    await Promise.all(clients.slice(0, 3).map((client) => once(client, 'close')));
    answering = echo;
    expect((await other.send('tools/call')).status).toBe(200);
    const again = await Promise.all([ask(), ask(), ask()]);
    expect(again.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const client of clients) client.destroy();
    expect((await service.admin('GET', '/api/limits/lockouts')).json.items).toEqual([]);
  });
});

it('each use is one audit event, written before anything is forwarded', async () => {
  const rows = () =>
    service.place.state.rows<{ outcome: string; service_name: string }>(
      "SELECT outcome, service_name FROM audit_events WHERE proxy_id = ? AND event_type = 'PROXY_CREDENTIAL_USE'",
      proxy.id,
    );
  const before = (await rows()).length;
  let during = 0;
  answering = (call, res) => void rows().then((found) => ((during = found.length), echo(call, res)));
  await proxy.send('tools/call');
  await proxy.call('GET');
  await proxy.call('POST', { body: [message('tools/list', {}, 1), message('tools/call', {}, 2)] });
  const after = await rows();
  expect([during, after.length]).toEqual([before + 3, before + 3]);
  expect(after.at(-1)).toEqual({ outcome: 'success', service_name: 'github' });
  expect((await service.admin('GET', `/api/proxies/${proxy.id}`)).json.lastUsedAt).toEqual(
    expect.any(String),
  );
});
