/** A credential in a parameter of the query (PROTOCOL.md section 5.8): where it goes, and where it must never be. */
import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { LogSink } from '@svault/test-kit/log-sink';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { type ProxyAnswer, type ProxyCall, callProxy, injections, putProxy } from '../support/proxy-calls.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const SECRET = 'key of query/+=&?#%0123456789';
const ENCODED = encodeURIComponent(SECRET);
const OK: RequestListener = (_req, res) => void res.end('ok');

let webhook: BoundWebhook;
let upstream: Upstream;
let answer: RequestListener;
const log = new LogSink();
beforeAll(async () => {
  upstream = await startUpstream((req, res) => answer(req, res));
  webhook = await boundWebhook({
    env: { SV_EGRESS_ALLOW: '127.0.0.1/32' },
    logger: createLogger({ name: 'webhook', level: 'debug', format: 'json', destination: log }),
  });
  await stored('api', { value: SECRET, allowedQuery: ['key', 'sig'] });
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});
beforeEach(async () => {
  answer = OK;
  await point({ key: '${TOKEN}' });
});

async function stored(name: string, body: object): Promise<void> {
  const whole = { tokenType: 'PlainText', allowedHosts: [upstream.url], ...body };
  expect((await webhook.store(name, whole)).status).toBe(200);
}
const point = (
  queryTemplates: Record<string, string>,
  more: Parameters<typeof putProxy>[2] = {},
): Promise<void> =>
  putProxy(webhook, `${upstream.url}/v1`, { kind: 'http', headerTemplates: {}, queryTemplates, ...more });
const call = (more: ProxyCall = {}): Promise<ProxyAnswer> =>
  callProxy(webhook, { method: 'GET', target: '/maps', ...more });
const asked = async (target: string): Promise<string | undefined> => {
  expect((await call({ target })).status).toBe(200);
  return upstream.requests.at(-1)?.url;
};
async function refused(more: ProxyCall = {}): Promise<readonly unknown[]> {
  const before = upstream.requests.length;
  const { status, json } = await call(more);
  expect(upstream.requests).toHaveLength(before);
  return [status, json.code, json.cause];
}

describe('the parameter', () => {
  test.each([
    ['', `/v1?key=${ENCODED}`],
    ['/maps', `/v1/maps?key=${ENCODED}`],
    ['/maps?', `/v1/maps?key=${ENCODED}`],
    ["/maps?a='b'&c", `/v1/maps?a='b'&c&key=${ENCODED}`],
    ['?a=key', `/v1?a=key&key=${ENCODED}`],
    ['/maps?text=?', `/v1/maps?text=?&key=${ENCODED}`],
    ['??', `/v1??&key=${ENCODED}`],
    ['/key=x?KEY=1&key2=2&xkey=3', `/v1/key=x?KEY=1&key2=2&xkey=3&key=${ENCODED}`],
  ])('is appended to the query of %j', async (target, expected) => {
    expect(await asked(target)).toBe(expected);
  });

  test('may have text around its marker, and other parameters next to it', async () => {
    await point({ sig: 'v1 ${TOKEN}&', 'api-version': '2026-01-01' });
    expect(await asked('/maps')).toBe(`/v1/maps?sig=v1%20${ENCODED}%26&api-version=2026-01-01`);
  });

  test.each(['?key=mine', '?a&key=mine', '?a;key', '?key', '?%6bey=1', '?k%65%79=1&b', '?a=%zz&key=%zz'])(
    'may not be named by the agent, as %s',
    async (target) => {
      expect(await refused({ target })).toEqual([403, 'REQUEST_NOT_ALLOWED', 'query_parameter']);
    },
  );

  test('is not the one that k+ey names, whose + is a space', async () => {
    expect(await asked('?k+ey=1')).toBe(`/v1?k+ey=1&key=${ENCODED}`);
  });

  test('must be one of the names sealed with the credential, in the same letter case', async () => {
    for (const name of ['token', 'Key', 'KEY', 'authorization']) {
      await point({ [name]: 'a${TOKEN}' });
      const { status, json } = await call();
      expect([status, json.code, json.cause, json.parameter]).toEqual([
        403,
        'DESTINATION_NOT_ALLOWED',
        'parameter',
        name,
      ]);
      expect(json.error).toContain(`--allow-query ${name}`);
    }
  });

  test('is denied for a credential without allowedQuery', async () => {
    await stored('headers', { value: SECRET });
    await point({ key: '${TOKEN}' }, { serviceName: 'headers' });
    expect(await refused({ serviceName: 'headers' })).toEqual([403, 'DESTINATION_NOT_ALLOWED', 'parameter']);
  });

  test('names are sealed, and listed as they were stored', async () => {
    const listed = async (serviceName: string): Promise<unknown> =>
      (await webhook.storage({ op: 'tokens.get', serviceName })).json.allowedQuery;
    expect(await listed('api')).toEqual(['key', 'sig']);
    await stored('none', { value: SECRET });
    expect(await listed('none')).toBeUndefined();
    for (const allowedQuery of [[], ['a b'], ['a', 'b', 'c', 'd', 'e', 'f'], 'key', [1]]) {
      const body = { tokenType: 'PlainText', value: SECRET, allowedQuery };
      expect((await webhook.store('wrong', body)).status).toBe(400);
    }
  });

  test('cannot override the method past request rules', async () => {
    const requests = [{ methods: ['GET'], paths: ['/v1/**'] }];
    await stored('ruled', { value: SECRET, allowedQuery: ['key'], requests });
    await point({ key: '${TOKEN}' }, { serviceName: 'ruled' });
    expect((await call({ serviceName: 'ruled' })).status).toBe(200);
    await point({ key: '${TOKEN}', _method: 'DELETE' }, { serviceName: 'ruled' });
    expect(await refused({ serviceName: 'ruled' })).toEqual([403, 'REQUEST_NOT_ALLOWED', 'method_override']);
  });

  test('takes no credential that is no legal field value, or too long for a request line', async () => {
    for (const value of [`${SECRET}\n`, `${SECRET}é`, 'x1Y2'.repeat(8 * 1024)]) {
      await stored('odd', { value, allowedQuery: ['key'] });
      await point({ key: '${TOKEN}' }, { serviceName: 'odd' });
      expect(await refused({ serviceName: 'odd' })).toEqual([422, 'NOT_INJECTABLE', undefined]);
    }
  });
});

describe('the credential', () => {
  test.each([
    ['as it was sent', ENCODED],
    ['form-encoded', String(new URLSearchParams({ key: SECRET })).slice('key='.length)],
    ['with escapes in lower case', ENCODED.toLowerCase()],
    ['with each byte escaped', Buffer.from(SECRET).toString('hex').replaceAll(/../g, '%$&')],
    ['escaped twice', encodeURIComponent(`/v1/maps?key=${ENCODED}`)],
    ['in base64', Buffer.from(`u:${SECRET}`).toString('base64')],
  ])('is removed with the URL field of the answer that has it %s', async (_form, text) => {
    answer = (_req, res) =>
      void res
        .writeHead(301, {
          location: `/v1/maps/?key=${text}`,
          'content-location': `/v1?key=${text}`,
          link: `</v1?page=2&key=${text}>; rel="next"`,
          'x-other': 'b',
        })
        .end();
    const { status, headers } = await call();
    expect(status).toBe(301);
    expect(headers).toMatchObject({ 'x-other': 'b' });
    for (const name of ['location', 'content-location', 'link']) expect(headers).not.toHaveProperty(name);
  });

  test('that is short removes every Location, so that none confirms a guess', async () => {
    await stored('pin', { value: '4711', allowedQuery: ['key'], allowShortSecret: true });
    await point({ key: '${TOKEN}' }, { serviceName: 'pin' });
    for (const location of ['/v1/?key=4711', '/v1/?key=4712']) {
      answer = (_req, res) => void res.writeHead(302, { location, 'content-type': 'a/b' }).end();
      const { status, headers } = await call({ serviceName: 'pin' });
      expect([status, headers.location, headers['content-type']]).toEqual([302, undefined, 'a/b']);
    }
  });

  test('is in no log, no audit entry and no error', async () => {
    answer = (_req, res) => void res.destroy();
    const broken = await call({ target: '/path-of-agent?q=query-of-agent' });
    expect(broken.status).toBe(502);
    await refused({ target: '/a#b' });
    answer = OK;
    await call();
    const entries = await injections(webhook, 'api');
    expect(entries[0]).toMatchObject({ outcome: 'success', detail: { headers: [], query: ['key'] } });
    const { text } = await webhook.storage({ op: 'audit.list' });
    const written = Buffer.from(log.text + text + broken.body.toString());
    expect(tracesOf(SECRET, written)).toEqual([]);
    expect(written.includes(ENCODED)).toBe(false);
    expect(written.includes('path-of-agent') || written.includes('query-of-agent')).toBe(false);
  });
});
