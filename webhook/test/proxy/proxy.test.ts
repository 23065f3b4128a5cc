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
  test('accept the credential at either placeholder', async () => {
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
});

describe('the response', () => {
  beforeAll(() => point());

  test('has status, headers and body as the upstream sent them', async () => {
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

  // spec: Upstream 3xx responses are not followed.
  test.each([301, 307])('with status %d is forwarded and not followed (R12)', async (status) => {
    const location = `http://${upstream.host}/elsewhere`;
    answer = (_req, res) => void res.writeHead(status, { location }).end('moved');
    const before = upstream.requests.length;
    const got = await callProxy(webhook, { body: '{}' });
    expect([got.status, got.headers.location, got.body.toString()]).toEqual([status, location, 'moved']);
    expect(upstream.requests.length).toBe(before + 1);
  });

  test.each([204, 304])('with status %d has no body', async (status) => {
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

  test('has one event for each use, written before the upstream is called', async () => {
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

  test('has no second event for a replayed request, and the upstream is called once', async () => {
    const nonce = 'a-nonce-that-is-sent-twice';
    const ticket = proxyTicket(webhook);
    const before = [upstream.requests.length, (await injections(webhook)).length];
    expect((await callProxy(webhook, { nonce, ticket })).status).toBe(200);
    const again = await callProxy(webhook, { nonce, ticket });
    expect([again.status, again.json.code]).toEqual([401, 'SIGNATURE_INVALID']);
    expect([upstream.requests.length, (await injections(webhook)).length]).toEqual(before.map((n) => n + 1));
  });
});
