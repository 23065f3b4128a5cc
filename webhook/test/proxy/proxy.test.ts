/** `POST /v1/proxy` (PROTOCOL.md section 5.6): what reaches an upstream, what comes back, and what is written of it. */
import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import {
  PROXY,
  type ProxyCall,
  callProxy,
  injections,
  proxyTicket,
  putProxy,
} from '../support/proxy-calls.ts';
import { type Upstream, type UpstreamRequest, startUpstream } from '../support/upstream.ts';

const TOKEN = 'tkn_0123456789abcdef/+=';
const JSON_ANSWER: RequestListener = (_req, res) =>
  void res.setHeader('content-type', 'application/json').end('{}');

let webhook: BoundWebhook;
let upstream: Upstream;
/** How the upstream answers in this test. */
let answer: RequestListener;
beforeAll(async () => {
  upstream = await startUpstream((req, res) => answer(req, res));
  webhook = await boundWebhook({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
  await store('api', {});
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});
afterEach(() => {
  answer = JSON_ANSWER;
});
answer = JSON_ANSWER;

async function store(name: string, more: object): Promise<void> {
  const body = { tokenType: 'PlainText', value: TOKEN, allowedHosts: [upstream.url], ...more };
  expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
}
const point = (more: Parameters<typeof putProxy>[2] = {}, path = '/mcp?x=%20y'): Promise<void> =>
  putProxy(webhook, upstream.url + path, more);
/** The one request that this call led to. */
async function reached(call: ProxyCall): Promise<UpstreamRequest> {
  const before = upstream.requests.length;
  const { status, body } = await callProxy(webhook, call);
  expect([status, body.toString()]).toEqual([200, '{}']);
  const [request, ...others] = upstream.requests.slice(before);
  expect(others).toEqual([]);
  return request!;
}

describe('what reaches the upstream', () => {
  beforeAll(() => point());

  const eightMiB = randomBytes(8 * 1024 * 1024);
  test.each([
    ['of JSON', Buffer.from('{"a":1,  "a":2}\n'), 'application/json'],
    ['of a batch', Buffer.from('[{"id":1},{"id":2}]'), 'application/json'],
    ['of any bytes', Buffer.from([0, 255, 13, 10, 0x80]), 'application/octet-stream'],
    ['of 8 MiB', eightMiB, 'application/octet-stream'],
  ])('is a body %s, byte for byte', async (_what, body, contentType) => {
    const got = await reached({ body, contentType });
    expect(got.body.equals(body)).toBe(true);
    expect(got.headers).toMatchObject({
      'content-type': contentType,
      'content-length': String(body.byteLength),
    });
  });

  test('is no body where there is none', async () => {
    const got = await reached({});
    expect(got.body.byteLength).toBe(0);
    expect(got.headers).not.toHaveProperty('content-type');
  });

  test.each(['GET', 'POST', 'DELETE', 'OPTIONS'] as const)(
    'is %s where the ticket says so',
    async (method) => {
      const got = await reached({ method });
      expect([got.method, got.url]).toEqual([method, '/mcp?x=%20y']);
      expect(got.headers).toMatchObject({ host: upstream.host, authorization: `Bearer ${TOKEN}` });
    },
  );

  test('are the headers that travel, the template, and nothing else', async () => {
    const travelling = {
      accept: 'application/json, text/event-stream',
      'accept-language': 'de',
      'user-agent': 'client/1.0 (größer)'.replaceAll('ö', 'o').replaceAll('ß', 's'),
      'mcp-protocol-version': '2025-06-18',
      'mcp-session-id': 'a b~c',
      'last-event-id': '42',
      'mcp-method': 'tools/call',
      'mcp-name': 'search',
      'mcp-param-region': 'eu',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'a=b',
    };
    const got = await reached({
      body: '{}',
      headers: {
        ...travelling,
        authorization: 'Bearer mcp_of_the_caller',
        'x-mcp-key': 'mcp_of_the_caller',
        'x-agent-key': 'svagent_of_the_caller',
        'x-api-key': 'of the caller',
        cookie: 'session=1',
        'accept-encoding': 'gzip, br',
        'content-language': 'de',
        origin: 'https://a.test',
        referer: 'https://a.test/',
        range: 'bytes=0-1',
        forwarded: 'for=1.2.3.4',
        via: '1.1 x',
        'x-forwarded-for': '1.2.3.4',
        'x-forwarded-host': 'evil.test',
        'proxy-authorization': 'Basic x',
        te: 'trailers',
        'keep-alive': 'timeout=1',
        'x-custom': '1',
      },
    });
    const { connection: _own, ...headers } = got.headers;
    expect(headers).toEqual({
      ...travelling,
      'content-type': 'application/json',
      'content-length': '2',
      host: upstream.host,
      authorization: `Bearer ${TOKEN}`,
      'accept-encoding': 'identity',
    });
  });

  test('a header that the connection claims stays behind', async () => {
    const got = await reached({ headers: { connection: 'close, mcp-name', 'mcp-name': 'x', accept: 'a' } });
    expect(got.headers).toMatchObject({ accept: 'a' });
    expect(got.headers).not.toHaveProperty('mcp-name');
  });

  test('is what the webhook has stored, whatever the ticket says of it', async () => {
    const got = await reached({
      headers: { host: 'evil.test' },
      claims: { upstreamUrl: 'https://evil.test/', url: 'https://evil.test/' },
    });
    expect([got.headers.host, got.url]).toEqual([upstream.host, '/mcp?x=%20y']);
  });
});

describe('templates', () => {
  afterAll(() => point());
  const sent = async (
    headerTemplates: Record<string, string>,
    call: ProxyCall = {},
  ): Promise<UpstreamRequest['headers']> => {
    await point({ headerTemplates });
    return (await reached(call)).headers;
  };

  // spec: Header templates may contain the substitution marker ${TOKEN}, which the webhook replaces with the real credential.
  // spec: The webhook injects the real credential, substituting ${TOKEN} in the header templates.
  // spec: POST /v1/proxy | service, signed | Decrypt the credential, inject it into the upstream request.
  test('take the credential at either marker', async () => {
    const headers = await sent({
      Authorization: 'token ${TOKEN}',
      'X-API-Key': '$<TOKEN>',
      'x-fixed': 'a b',
    });
    expect(headers).toMatchObject({
      authorization: `token ${TOKEN}`,
      'x-api-key': TOKEN,
      'x-fixed': 'a b',
    });
  });

  test('replace a header of the agent, whatever its case', async () => {
    const headers = await sent({ 'User-Agent': 'ours', ACCEPT: 'a/b' }, { headers: { accept: 'c/d' } });
    expect(headers).toMatchObject({ 'user-agent': 'ours', accept: 'a/b' });
    expect(headers).not.toHaveProperty('authorization');
  });

  test('do not have the answer compressed', async () => {
    expect(await sent({ 'accept-encoding': 'gzip' })).toMatchObject({ 'accept-encoding': 'identity' });
  });

  test('do not look again at what they were filled with (R11)', async () => {
    await store('nested', { value: 'a${TOKEN}b$<TOKEN>$&' });
    await point({ serviceName: 'nested', headerTemplates: { authorization: '[${TOKEN}]' } });
    const { headers } = await reached({ serviceName: 'nested' });
    expect(headers.authorization).toBe('[a${TOKEN}b$<TOKEN>$&]');
  });

  test('may use other headers that were sealed with the record', async () => {
    await store('elsewhere', { allowedHeaders: ['X-Private-Token'] });
    const more = { serviceName: 'elsewhere', headerTemplates: { 'x-private-token': '${TOKEN}' } };
    await point(more);
    expect((await reached({ serviceName: 'elsewhere' })).headers).toMatchObject({ 'x-private-token': TOKEN });
  });
});

describe('records', () => {
  afterAll(() => point());

  test.each([
    ['proxy-only', {}],
    ['sealed', { recipients: [{ kty: 'EC', crv: 'P-256', ...ecPoint() }] }],
  ])('that are %s are used where they were stored for', async (delivery, more) => {
    await store(delivery, { delivery, ...more });
    await point({ serviceName: delivery });
    const { headers } = await reached({ serviceName: delivery });
    expect(headers.authorization).toBe(`Bearer ${TOKEN}`);
    const { status, json } = await webhook.credential(delivery);
    expect([status, json.code]).toEqual([403, 'DELIVERY_NOT_ALLOWED']);
  });

  test('that were stored again are used in their new form', async () => {
    await store('changing', {});
    await point({ serviceName: 'changing' });
    await reached({ serviceName: 'changing' });
    await store('changing', { value: 'tkn_stored_anew_0189' });
    expect((await reached({ serviceName: 'changing' })).headers.authorization).toBe(
      'Bearer tkn_stored_anew_0189',
    );
    await store('changing', { allowedHosts: ['other.test'] });
    const { status, json } = await callProxy(webhook, { serviceName: 'changing' });
    expect([status, json.code]).toEqual([403, 'DESTINATION_NOT_ALLOWED']);
  });
});

describe('what comes back', () => {
  beforeAll(() => point());

  test('is status, headers and body as the upstream wrote them', async () => {
    const body = randomBytes(300_000);
    answer = (_req, res) => {
      res.writeHead(418, [
        ['Content-Type', 'application/weird'],
        ['Content-Length', String(body.byteLength)],
        ['Mcp-Session-Id', 'session'],
        ['Link', '<a>'],
        ['Link', '<b>'],
        ['Date', 'Thu, 01 Jan 2026 00:00:00 GMT'],
        ['Cache-Control', 'max-age=5'],
        ['X-Latin', 'gr\u00f6\u00dfer'],
      ]);
      res.end(body);
    };
    const got = await callProxy(webhook);
    expect(got.status).toBe(418);
    expect(got.body.equals(body)).toBe(true);
    const { connection: _own, ...headers } = got.headers;
    expect(headers).toEqual({
      'content-type': 'application/weird',
      'content-length': '300000',
      'mcp-session-id': 'session',
      link: '<a>, <b>',
      date: 'Thu, 01 Jan 2026 00:00:00 GMT',
      'cache-control': 'max-age=5',
      'x-latin': 'gr\u00f6\u00dfer',
      'sv-proxy-origin': 'upstream',
    });
  });

  test.each([
    'set-cookie',
    'www-authenticate',
    'proxy-authenticate',
    'clear-site-data',
    'strict-transport-security',
    'content-security-policy',
    'content-security-policy-report-only',
    'access-control-allow-origin',
    'access-control-allow-credentials',
    'alt-svc',
    'refresh',
    'report-to',
    'nel',
    'service-worker-allowed',
    'sv-anything',
    'keep-alive',
    'x-of-this-connection',
  ])('is not %s', async (name) => {
    answer = (_req, res) => {
      res
        .setHeader('connection', 'close, x-of-this-connection')
        .setHeader(name, 'x')
        .setHeader('x-kept', '1');
      res.end();
    };
    const { status, rawHeaders } = await callProxy(webhook);
    expect(status).toBe(200);
    const values = rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === name);
    expect(values).not.toContain('x');
    expect(rawHeaders).toContain('x-kept');
  });

  test('is our own word on who answered, not the upstream\u2019s', async () => {
    answer = (_req, res) => void res.writeHead(401, { 'sv-proxy-origin': 'webhook' }).end('{"code":"X"}');
    const { status, headers } = await callProxy(webhook);
    expect([status, headers['sv-proxy-origin']]).toEqual([401, 'upstream']);
  });

  // spec: Upstream 3xx responses are not followed.
  test.each([301, 302, 303, 307, 308])(
    'with status %d is passed on and not followed (R12)',
    async (status) => {
      const location = `http://${upstream.host}/elsewhere`;
      answer = (_req, res) => void res.writeHead(status, { location }).end('moved');
      const before = upstream.requests.length;
      const got = await callProxy(webhook, { body: '{}' });
      expect([got.status, got.headers.location, got.body.toString()]).toEqual([status, location, 'moved']);
      expect(upstream.requests.length).toBe(before + 1);
    },
  );

  test.each([204, 304])('is a %d without a body', async (status) => {
    answer = (_req, res) => void res.writeHead(status, { 'mcp-session-id': 's' }).end();
    const got = await callProxy(webhook);
    expect([got.status, got.headers['mcp-session-id'], got.body.byteLength]).toEqual([status, 's', 0]);
  });

  test('has no trailers', async () => {
    answer = (_req, res) => {
      res.writeHead(200, { trailer: 'x-late' }).write('a');
      res.addTrailers({ 'x-late': TOKEN });
      res.end('b');
    };
    const got = await callProxy(webhook);
    expect([got.body.toString(), got.headers.trailer]).toEqual(['ab', undefined]);
  });
});

describe('the log', () => {
  beforeAll(() => point());

  test('has one entry for each use, before the upstream hears of it', async () => {
    let known: readonly unknown[] = [];
    answer = (_req, res) => {
      void injections(webhook).then((entries) => {
        known = entries.filter(({ detail }) => detail['jti'] === jti);
        res.end('{}');
      });
    };
    const jti = 'a-ticket-of-this-test-alone';
    const { status } = await callProxy(webhook, { claims: { jti, sub: 'agt_AAAAAAAAAAAAAAAAAAAAAA' } });
    expect(status).toBe(200);
    expect(known).toEqual([
      expect.objectContaining({
        eventType: 'CREDENTIAL_INJECTED',
        outcome: 'success',
        source: 'webhook',
        serviceName: 'api',
        proxyId: PROXY,
        agentId: 'agt_AAAAAAAAAAAAAAAAAAAAAA',
        detail: expect.objectContaining({
          jti,
          htm: 'POST',
          host: upstream.host,
          headers: ['authorization'],
        }),
      }),
    ]);
    expect((await injections(webhook)).filter(({ detail }) => detail['jti'] === jti)).toHaveLength(1);
  });

  test('says nothing more of a request that is sent twice, and the upstream is called once', async () => {
    const nonce = 'a-nonce-that-is-sent-twice';
    const ticket = proxyTicket(webhook);
    const before = [upstream.requests.length, (await injections(webhook)).length];
    expect((await callProxy(webhook, { nonce, ticket })).status).toBe(200);
    const again = await callProxy(webhook, { nonce, ticket });
    expect([again.status, again.json.code]).toEqual([401, 'SIGNATURE_INVALID']);
    expect([upstream.requests.length, (await injections(webhook)).length]).toEqual(before.map((n) => n + 1));
  });

  test('of twenty calls with one nonce at the same time one is made', async () => {
    const nonce = 'a-nonce-of-twenty-requests';
    const before = upstream.requests.length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => callProxy(webhook, { nonce })));
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual([
      '200',
      ...Array<string>(19).fill('401'),
    ]);
    expect(upstream.requests.length).toBe(before + 1);
  });
});

function ecPoint(): { x: string; y: string } {
  return {
    x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
    y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
  };
}
