/** Proxies of HTTP APIs (PROTOCOL.md section 5.8): what reaches the upstream, and what the agent gets. */
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import {
  PROXY,
  type ProxyAnswer,
  type ProxyCall,
  callProxy,
  injections,
  openCall,
  putProxy,
} from '../support/proxy-calls.ts';
import { type Upstream, type UpstreamRequest, startRawUpstream, startUpstream } from '../support/upstream.ts';

const TOKEN = 'tkn_of_http_apis/+=0123456789';
const OK: RequestListener = (_req, res) => void res.end('ok');
const RAW_OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

let webhook: BoundWebhook;
let upstream: Upstream;
/** Answers with bytes as they are, and passes each request's head on as received. */
let raw: Upstream;
let answer: RequestListener;
let answerRaw: (socket: Socket, head: string) => void;
beforeAll(async () => {
  upstream = await startUpstream((req, res) => answer(req, res));
  raw = await startRawUpstream((socket, head) => answerRaw(socket, head));
  webhook = await boundWebhook({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
  const body = { tokenType: 'PlainText', value: TOKEN, allowedHosts: [upstream.url, raw.url] };
  expect((await webhook.store('api', body)).status).toBe(200);
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
  await raw.close();
});
beforeEach(async () => {
  answer = OK;
  await point(`${upstream.url}/api`);
});

const point = (upstreamUrl: string, more: Parameters<typeof putProxy>[2] = {}): Promise<void> =>
  putProxy(webhook, upstreamUrl, { kind: 'http', ...more });
const call = (more: ProxyCall): Promise<ProxyAnswer> =>
  callProxy(webhook, { method: 'GET', target: '', ...more });
/** The one upstream request of this call. */
async function reached(more: ProxyCall): Promise<UpstreamRequest> {
  const before = upstream.requests.length;
  const { status, body } = await call(more);
  expect([status, body.toString()]).toEqual([200, more.method === 'HEAD' ? '' : 'ok']);
  const [request, ...others] = upstream.requests.slice(before);
  expect(others).toEqual([]);
  return request!;
}
/** Status, code and cause of a call that is refused before the upstream is called. */
async function refused(more: ProxyCall): Promise<readonly unknown[]> {
  const before = upstream.connections() + raw.connections();
  const { status, json, headers } = await call(more);
  expect(upstream.connections() + raw.connections()).toBe(before);
  expect(headers['sv-proxy-origin']).toBe('webhook');
  return [status, json.code, json.cause];
}

describe('the target', () => {
  test.each([
    ['/api', '', '/api'],
    ['/api/', '', '/api'],
    ['/api/', '/', '/api/'],
    ['/api', '/users?page=2', '/api/users?page=2'],
    ['/api', '?page=2', '/api?page=2'],
    ['', '', '/'],
    ['/', '?a', '/?a'],
    ['', '/v1//x', '/v1//x'],
    ['/api', '//x', '/api//x'],
    ['/api', '/@scope%2fname', '/api/@scope%2fname'],
    ['/api', "/a%zz'b|{}?q='%27&r=\"<>^`|[]", "/api/a%zz'b|{}?q='%27&r=\"<>^`|[]"],
    ['/api', '/a;v=1/...x/.git/b..c?../..', '/api/a;v=1/...x/.git/b..c?../..'],
    ['/api', `/${'a'.repeat(8_191)}`, `/api/${'a'.repeat(8_191)}`],
  ])('below %j, %j is sent byte for byte', async (base, target, asked) => {
    await point(raw.url + base);
    let line = '';
    answerRaw = (socket, head) => {
      line = head.split('\r\n', 1)[0] ?? '';
      socket.write(RAW_OK);
    };
    expect((await call({ target })).body.toString()).toBe('ok');
    expect(line).toBe(`GET ${asked} HTTP/1.1`);
  });

  test.each([
    ['/a#b', 'fragment'],
    ['/a\\b', 'target_characters'],
    ['/a b', 'target_characters'],
    ['/a\tb', 'target_characters'],
    ['a', 'absolute_target'],
    ['@evil.test/', 'absolute_target'],
    [':8080/', 'absolute_target'],
    ['.evil.test/', 'absolute_target'],
    ['http://evil.test/', 'absolute_target'],
    [`/${'a'.repeat(8_192)}`, 'target_length'],
    ...[
      '/..',
      '/../x',
      '/./x',
      '/x/..?y',
      '/%2e%2E/x',
      '/.%2e',
      '/a%2f..%2fb',
      '/a%5C..',
      '/%252e%252e/x',
      '/%25252e./x',
      '/..;x/y',
      '/..%3Bx',
      '/..%20/x',
    ].map((target): [string, string] => [target, 'path_dot_segment']),
  ] satisfies [string, string][])('%j is refused as %s, without a call', async (target, cause) => {
    expect(await refused({ target })).toEqual([403, 'REQUEST_NOT_ALLOWED', cause]);
  });

  test('that begins with // is refused where the upstream has no path, since parsers read a host there', async () => {
    await point(upstream.url);
    expect(await refused({ target: '//evil.test/' })).toEqual([
      403,
      'REQUEST_NOT_ALLOWED',
      'path_empty_segment',
    ]);
  });

  test.each([
    ['is not covered by the signature', '/a'],
    ['is empty and not covered', ''],
  ])('that %s is SIGNATURE_INVALID', async (_case, target) => {
    const { status, json } = await callProxy(webhook, { method: 'GET', headers: { 'sv-target': target } });
    expect([status, json.code]).toEqual([401, 'SIGNATURE_INVALID']);
  });

  test('that was changed in transit is SIGNATURE_INVALID', async () => {
    const { status, json } = await call({
      target: '/a',
      tamper: (headers) => void (headers['sv-target'] = '/b'),
    });
    expect([status, json.code]).toEqual([401, 'SIGNATURE_INVALID']);
  });

  test('is required for an HTTP API and denied for MCP', async () => {
    const kind = [403, 'DESTINATION_NOT_ALLOWED', 'kind'];
    const { status, json } = await callProxy(webhook, { method: 'GET' });
    expect([status, json.code, json.cause]).toEqual(kind);
    await putProxy(webhook, `${upstream.url}/mcp`);
    expect(await refused({ target: '' })).toEqual(kind);
    expect(await refused({ target: '/x' })).toEqual(kind);
    const [entry] = await injections(webhook);
    expect(entry).toMatchObject({ outcome: 'denied', detail: { reason: 'kind' } });
  });

  test('is compared with request rules, after the path of the upstream', async () => {
    const requests = [{ methods: ['GET'], paths: ['/api/users/*'] }];
    const body = { tokenType: 'PlainText', value: TOKEN, allowedHosts: [upstream.url], requests };
    expect((await webhook.store('ruled', body)).status).toBe(200);
    await point(`${upstream.url}/api`, { serviceName: 'ruled' });
    const ruled = (more: ProxyCall): ProxyCall => ({ serviceName: 'ruled', ...more });
    expect((await reached(ruled({ target: '/users/1?a=b' }))).url).toBe('/api/users/1?a=b');
    for (const [more, cause] of [
      [{ target: '/users' }, 'rule'],
      [{ target: '/users/1', method: 'PUT' }, 'rule'],
      [{ target: '/users/a%2Fb' }, 'path_encoding'],
      [{ target: '/users/1?_method=DELETE' }, 'method_override'],
      [{ target: '/users/1', covered: { 'x-http-method-override': 'DELETE' } }, 'method_override'],
      [{ target: '/users/1', covered: { 'x-original-url': '/admin' } }, 'path_override'],
    ] as const)
      expect(await refused(ruled(more))).toEqual([403, 'REQUEST_NOT_ALLOWED', cause]);
    const [entry] = await injections(webhook, 'ruled');
    expect(JSON.stringify(entry)).not.toContain('/users/1');
  });
});

describe('the method', () => {
  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'M-SEARCH', 'QUERY'])(
    '%s reaches the upstream as it is',
    async (method) => {
      expect((await reached({ method })).method).toBe(method);
    },
  );

  test.each(['CONNECT', 'TRACE', 'get', 'A'.repeat(21), 'G T', ''])(
    '%j is not valid in a ticket',
    async (method) => {
      const { status, json } = await call({ method });
      expect([status, json.code]).toEqual([401, 'TICKET_INVALID']);
    },
  );

  test('of an HTTP API is refused for a configuration of MCP', async () => {
    await putProxy(webhook, `${upstream.url}/mcp`);
    for (const method of ['PUT', 'PATCH', 'HEAD']) {
      const { status, headers } = await callProxy(webhook, { method });
      expect([status, headers['sv-proxy-origin']]).toEqual([403, 'webhook']);
    }
  });
});

describe('header fields', () => {
  test('that are covered reach the upstream, and no others', async () => {
    const { headers } = await reached({
      covered: { accept: 'a/b', range: 'bytes=0-1', 'x-github-api-version': '2022', 'if-none-match': '"e"' },
      headers: {
        'user-agent': 'added in transit',
        'x-http-method-override': 'DELETE',
        'x-api-key': 'added in transit',
        connection: 'accept',
      },
    });
    expect(headers).toEqual({
      host: upstream.host,
      connection: 'keep-alive',
      accept: 'a/b',
      range: 'bytes=0-1',
      'x-github-api-version': '2022',
      'if-none-match': '"e"',
      authorization: `Bearer ${TOKEN}`,
      'accept-encoding': 'identity',
    });
  });

  test.each([
    'authorization',
    'x-mcp-key',
    'x-agent-key',
    'cookie',
    'cookie2',
    'origin',
    'referer',
    'expect',
    'te',
    'keep-alive',
    'http2-settings',
    'forwarded',
    'x-forwarded-host',
    'x-real-ip',
    'via',
    'proxy-authorization',
    'sec-fetch-site',
    'sv-other',
    'connection',
  ])('named %s do not reach the upstream, even if they are covered', async (name) => {
    const { headers } = await reached({ covered: { [name]: name === 'expect' ? '100-continue' : 'theirs' } });
    expect(JSON.stringify(headers)).not.toContain('theirs');
  });

  test('of a template replace those of the agent', async () => {
    await point(upstream.url, { headerTemplates: { 'X-Api-Key': '${TOKEN}' } });
    const others = { x_api_key: 'theirs', 'x.api_key': 'theirs', 'x!api~key': 'theirs' };
    const { headers } = await reached({ covered: { 'x-api-key': 'theirs', ...others } });
    expect(headers['x-api-key']).toBe(TOKEN);
    for (const name of Object.keys(others)) expect(headers).not.toHaveProperty([name]);
  });

  const fieldsOf1000 = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_each, at) => [`x-${at}`, 'v'.repeat(1000)]));

  test('of 32 KiB are accepted', async () => {
    const covered = fieldsOf1000(29);
    await point(raw.url);
    let received = '';
    answerRaw = (socket, head) => {
      received = head;
      socket.write(RAW_OK);
    };
    expect((await call({ covered })).body.toString()).toBe('ok');
    for (const [name, value] of Object.entries(covered)) expect(received).toContain(`${name}: ${value}`);
  });

  test('beyond the limit are 431 TOO_LARGE', async () => {
    const { status, json } = await call({ covered: fieldsOf1000(50) });
    expect([status, json.code]).toEqual([431, 'TOO_LARGE']);
  });
});

describe('the body', () => {
  test('is forwarded byte for byte, also if it is compressed', async () => {
    const body = gzipSync('0032want of git');
    const { headers, body: received } = await reached({
      method: 'POST',
      target: '/git-upload-pack',
      body,
      contentType: 'application/x-git-upload-pack-request',
      covered: { 'content-encoding': 'gzip' },
    });
    expect(received).toEqual(body);
    expect(headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'application/x-git-upload-pack-request',
      'content-length': String(body.byteLength),
    });
  });

  test('is forwarded with GET and DELETE', async () => {
    for (const method of ['GET', 'DELETE'])
      expect((await reached({ method, body: '{"query":1}' })).body.toString()).toBe('{"query":1}');
  });

  test('that is compressed is refused for a configuration of MCP', async () => {
    await putProxy(webhook, `${upstream.url}/mcp`);
    const { status, json } = await callProxy(webhook, {
      body: gzipSync('{}'),
      headers: { 'content-encoding': 'gzip' },
    });
    expect([status, json.code]).toEqual([400, 'INVALID_REQUEST']);
  });
});

describe('the marker for HTTP Basic', () => {
  const basic = (user: string): string =>
    `Basic ${Buffer.from(`${user}:${TOKEN}`, 'utf8').toString('base64')}`;

  test.each(['x-access-token', '', 'a$&b', 'u'.repeat(128)])('is filled for the user %j', async (user) => {
    await point(upstream.url, { headerTemplates: { Authorization: `Basic \${BASIC:${user}}` } });
    expect((await reached({})).headers.authorization).toBe(basic(user));
  });

  test.each(['a:b', 'ä', 'a b', 'u'.repeat(129)])('is not recognised with the user %j', async (user) => {
    const template = `Basic \${BASIC:${user}}`;
    const put = webhook.storage({
      op: 'proxies.put',
      proxyId: PROXY,
      serviceName: 'api',
      upstreamUrl: upstream.url,
      headerTemplates: { Authorization: template },
      kind: 'http',
    });
    if ((await put).status === 200) expect((await reached({})).headers.authorization).toBe(template);
    else expect(user).toBe('ä');
  });

  test('is subject to allowedHeaders', async () => {
    await point(upstream.url, { headerTemplates: { 'x-other': '${BASIC:u}' } });
    expect(await refused({})).toEqual([403, 'DESTINATION_NOT_ALLOWED', 'header']);
  });

  test('is not returned when the upstream echoes its value', async () => {
    answer = (req, res) =>
      void res.writeHead(200, { 'x-echo': req.headers.authorization, 'x-other': 'b' }).end('ok');
    await point(upstream.url, { headerTemplates: { Authorization: 'Basic ${BASIC:git}' } });
    const { headers } = await call({});
    expect([headers['x-echo'], headers['x-other']]).toEqual([undefined, 'b']);
  });

  test('rejects a credential that is no legal field value, though its base64 would be one', async () => {
    const body = { tokenType: 'PlainText', value: `${TOKEN}\n`, allowedHosts: [upstream.url] };
    expect((await webhook.store('lines', body)).status).toBe(200);
    await point(upstream.url, {
      serviceName: 'lines',
      headerTemplates: { Authorization: 'Basic ${BASIC:git}' },
    });
    expect(await refused({ serviceName: 'lines' })).toEqual([422, 'NOT_INJECTABLE', undefined]);
  });
});

describe('the answer', () => {
  test('to HEAD has no body, and the length that GET would have', async () => {
    answer = (_req, res) =>
      void res.writeHead(200, { 'content-length': '123456789', etag: '"e"', 'accept-ranges': 'bytes' }).end();
    const { status, headers, body } = await call({ method: 'HEAD' });
    expect([status, body.byteLength]).toEqual([200, 0]);
    expect(headers).toMatchObject({
      'sv-content-length': '123456789',
      etag: '"e"',
      'accept-ranges': 'bytes',
    });
    expect(headers).not.toHaveProperty('content-length');
  });

  test('to HEAD has no body if the upstream gives no length, or sends a body anyway', async () => {
    await point(raw.url);
    for (const bytes of [
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
      'HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nwrong',
    ]) {
      answerRaw = (socket) => socket.write(bytes);
      const { status, body } = await call({ method: 'HEAD' });
      expect([status, body.byteLength]).toEqual([Number(bytes.slice(9, 12)), 0]);
    }
    answerRaw = (socket) => socket.write(RAW_OK);
    expect((await call({})).body.toString()).toBe('ok');
  });

  test.each([
    'HTTP/1.1 204 No Content\r\netag: "e"\r\n\r\n',
    'HTTP/1.1 304 Not Modified\r\netag: "e"\r\n\r\n',
    'HTTP/1.1 304 Not Modified\r\ncontent-length: 1234\r\netag: "e"\r\n\r\n',
  ])('%j has no body', async (bytes) => {
    await point(raw.url);
    answerRaw = (socket) => socket.write(bytes);
    for (const method of ['GET', 'PUT', 'HEAD']) {
      const { status, headers, body } = await call({ method });
      expect([status, headers['etag'], body.byteLength]).toEqual([Number(bytes.slice(9, 12)), '"e"', 0]);
    }
  });

  test('has the status, ranges and validators of the upstream', async () => {
    const fields = {
      'content-range': 'bytes 0-1/9',
      'accept-ranges': 'bytes',
      etag: 'W/"e"',
      'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
      vary: 'accept',
    };
    answer = (_req, res) => void res.writeHead(206, fields).end('ok');
    const partial = await call({ covered: { range: 'bytes=0-1' } });
    expect([partial.status, partial.headers]).toEqual([206, expect.objectContaining(fields)]);
    answer = (_req, res) => void res.writeHead(416, { 'content-range': 'bytes */9' }).end();
    const { status, headers } = await call({ covered: { range: 'bytes=9-' } });
    expect([status, headers['content-range']]).toEqual([416, 'bytes */9']);
  });

  test('has no interim answers and no trailers, and its chunks may have any size', async () => {
    await point(raw.url);
    answerRaw = (socket) =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n' +
          'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\nx-trailer: 1\r\n\r\n',
      );
    const sent = await openCall(webhook, { method: 'GET', target: '' });
    let text = '';
    for await (const piece of sent) text += String(piece);
    expect([sent.statusCode, text, sent.headers['link']]).toEqual([200, 'ok', undefined]);
    expect(sent.trailers).toEqual({});
  });

  test('is read from the upstream no faster than the caller reads it', async () => {
    const piece = Buffer.alloc(64 * 1024);
    let written = 0;
    const asked = Promise.withResolvers<ServerResponse>();
    answer = (_req, res) => {
      res.writeHead(200);
      const write = (): void => {
        while (written < 1_000 && !res.destroyed) {
          written += 1;
          if (!res.write(piece)) return void res.once('drain', write);
        }
        res.end();
      };
      write();
      asked.resolve(res);
    };
    const sent = await openCall(webhook, { method: 'GET', target: '/big' });
    const theirs = await asked.promise;
    // The upstream stops once its buffer is full, since sockets hold far less than 62 MiB.
    while (!theirs.writableNeedDrain) await webhook.send('/v1/health');
    for (let round = 0; round < 20; round++) await webhook.send('/v1/health');
    expect(written).toBeLessThan(500);
    let bytes = 0;
    for await (const chunk of sent) bytes += (chunk as Buffer).byteLength;
    expect(bytes).toBe(1_000 * piece.byteLength);
  });

  test('is aborted at the upstream when the caller disconnects', async () => {
    const closed = Promise.withResolvers<void>();
    answer = (_req, res) => {
      res.writeHead(200).write('a');
      res.once('close', () => closed.resolve());
    };
    const sent = await openCall(webhook, { method: 'PATCH', target: '/slow' });
    await once(sent, 'data');
    sent.destroy();
    await closed.promise;
  });

  test('of 401 is returned without its challenge, and logged as a rejection', async () => {
    answer = (_req, res) => void res.writeHead(401, { 'www-authenticate': 'Basic' }).end();
    const { status, headers } = await call({});
    expect([status, headers['www-authenticate']]).toEqual([401, undefined]);
    const [entry] = await injections(webhook);
    expect(entry).toMatchObject({ outcome: 'error', detail: { code: 'UPSTREAM_UNAUTHORIZED' } });
  });

  test('that redirects is returned unchanged', async () => {
    answer = (_req, res) => void res.writeHead(302, { location: 'https://elsewhere.test/x' }).end();
    const { status, headers } = await call({});
    expect([status, headers.location]).toEqual([302, 'https://elsewhere.test/x']);
  });
});

describe('a configuration', () => {
  const put = async (more: object): Promise<number> => {
    const { status } = await webhook.storage({
      op: 'proxies.put',
      proxyId: 'prx_BBBBBBBBBBBBBBBBBBBBBB',
      serviceName: 'api',
      upstreamUrl: 'https://api.test/v1',
      headerTemplates: {},
      ...more,
    });
    return status;
  };

  test('is returned with the members that it was put with, also after a restart', async () => {
    const more = {
      kind: 'http',
      queryTemplates: { key: '${TOKEN}', password: 'p' },
      redirects: 'follow-without-credential',
    };
    expect(await put(more)).toBe(200);
    await webhook.restart();
    const got = async (): Promise<unknown> =>
      (await webhook.storage({ op: 'proxies.get', proxyId: 'prx_BBBBBBBBBBBBBBBBBBBBBB' })).json;
    expect(await got()).toMatchObject(more);
    expect(await put({})).toBe(200);
    const bare = (await got()) as object;
    for (const name of ['kind', 'queryTemplates', 'redirects']) expect(bare).not.toHaveProperty(name);
  });

  test.each([
    { kind: 'mcp' },
    { queryTemplates: { key: '${TOKEN}' } },
    { redirects: 'follow-without-credential' },
    { kind: 'http', redirects: 'follow' },
    { kind: 'http', upstreamUrl: 'https://api.test/v1?a=b' },
    { kind: 'http', upstreamUrl: 'https://api.test/v1?' },
    { kind: 'http', queryTemplates: {} },
    { kind: 'http', queryTemplates: { 'a b': 'x' } },
    { kind: 'http', queryTemplates: { '': 'x' } },
    { kind: 'http', queryTemplates: { a: 'ä' } },
    { kind: 'http', queryTemplates: { a: 'x'.repeat(513) } },
    { kind: 'http', queryTemplates: { a: '', b: '', c: '', d: '', e: '', f: '' } },
  ])('with %j is refused', async (more) => {
    expect(await put(more)).toBe(400);
  });

  test('of an HTTP API is announced by the capability http-proxy', async () => {
    const { json } = await webhook.signed('/v1/health');
    expect(json.capabilities).toContain('http-proxy');
  });
});
