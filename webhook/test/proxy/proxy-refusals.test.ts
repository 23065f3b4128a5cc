/** Everything for which `POST /v1/proxy` refuses; the upstream is called in none of these (PROTOCOL.md section 5.6). */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import {
  PROXY,
  type ProxyCall,
  callProxy,
  injections,
  proxyTicket,
  putProxy,
} from '../support/proxy-calls.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const TOKEN = 'tkn_refusals_0123456789';

let webhook: BoundWebhook;
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream();
  webhook = await boundWebhook({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
  await store('api', {});
  await point({});
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});

async function store(name: string, more: object): Promise<void> {
  const body = { tokenType: 'PlainText', value: TOKEN, allowedHosts: [upstream.url], ...more };
  expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
}
const point = (more: Parameters<typeof putProxy>[2], url = upstream.url): Promise<void> =>
  putProxy(webhook, url, more);

/** Status and code of a refusal, which has to be the webhook's own and to hold no trace of the credential. */
async function refused(call: ProxyCall = {}): Promise<readonly [number, string]> {
  const answer = await callProxy(webhook, call);
  expect(answer.headers['sv-proxy-origin']).toBe('webhook');
  expect(upstream.connections()).toBe(0);
  expect(tracesOf(TOKEN, Buffer.concat([answer.body, Buffer.from(answer.rawHeaders.join('\n'))]))).toEqual(
    [],
  );
  return [answer.status, answer.json.code];
}
const NOT_ALLOWED = [403, 'DESTINATION_NOT_ALLOWED'];

describe('authentication', () => {
  test.each<[string, ProxyCall]>([
    ['no ticket', { ticket: null }],
    ['a ticket for something else', { claims: { op: 'credential', rfp: 'none' } }],
    ['a ticket that is over', { claims: { iat: 1, exp: 61 } }],
    ['a ticket for too long', { claims: { exp: Math.floor(Date.UTC(2027, 0, 1) / 1000) } }],
    ['a ticket for another webhook', { claims: { aud: 'whk_BBBBBBBBBBBBBBBBBBBBBB' } }],
    ['a ticket of another service', { claims: { iss: 'https://evil.test' } }],
    ['a ticket without a method', { claims: { htm: undefined } }],
    ['a ticket for another method', { claims: { htm: 'PUT' } }],
    ['a ticket without a proxy', { claims: { prx: undefined } }],
    ['no JWS', { ticket: 'a.b.c' }],
  ])('%s is a 401', async (_what, call) => {
    expect(await refused(call)).toEqual([401, 'TICKET_INVALID']);
  });

  test.each<[string, (headers: Record<string, string>) => void]>([
    ['a ticket put in after signing', (headers) => (headers['sv-ticket'] = proxyTicket(webhook))],
    ['no signature', (headers) => delete headers['signature']],
    ['another digest', (headers) => (headers['content-digest'] = `sha-256=:${'A'.repeat(43)}=:`)],
    ['another content-type', (headers) => (headers['content-type'] = 'text/plain')],
    [
      'a ticket that is not covered',
      (headers) => (headers['signature-input'] = headers['signature-input']!.replace(' "sv-ticket"', '')),
    ],
  ])('%s is a 401', async (_what, tamper) => {
    expect(await refused({ body: '{}', tamper })).toEqual([401, 'SIGNATURE_INVALID']);
  });

  test('a request that was refused for its ticket does not come again', async () => {
    const call = { nonce: 'a-nonce-with-a-bad-ticket', ticket: 'a.b.c' };
    expect(await refused(call)).toEqual([401, 'TICKET_INVALID']);
    expect(await refused(call)).toEqual([401, 'SIGNATURE_INVALID']);
  });

  test('other methods are a 405, and bodies over 8 MiB a 413', async () => {
    const got = await webhook.send('/v1/proxy');
    expect([got.status, got.headers.get('allow'), got.headers.get('sv-proxy-origin')]).toEqual([
      405,
      'POST',
      'webhook',
    ]);
    const body = new Uint8Array(8 * 1024 * 1024 + 1);
    expect(await refused({ body })).toEqual([413, 'TOO_LARGE']);
  });

  test('a large body is read only of who signed its head', async () => {
    const connectionAfter = async (bytes: number): Promise<unknown> => {
      const tamper = (headers: Record<string, string>): void => {
        headers['signature'] = 'sv=:AAAA:';
      };
      const headers = { connection: 'keep-alive' };
      const answer = await callProxy(webhook, { body: new Uint8Array(bytes), headers, tamper });
      expect([answer.status, answer.json.code]).toEqual([401, 'SIGNATURE_INVALID']);
      return answer.headers.connection;
    };
    // What was read to its end leaves the connection good for another request.
    expect(await connectionAfter(1_000)).toBe('keep-alive');
    expect(await connectionAfter(8 * 1024 * 1024)).toBe('close');
  });
});

describe('who', () => {
  test('an unknown proxy, and an unknown record', async () => {
    expect(await refused({ proxyId: 'prx_CCCCCCCCCCCCCCCCCCCCCC' })).toEqual([404, 'NOT_FOUND']);
    const proxyId = 'prx_DDDDDDDDDDDDDDDDDDDDDD';
    await point({ proxyId, serviceName: 'nothing' });
    expect(await refused({ proxyId, serviceName: 'nothing' })).toEqual([404, 'NOT_FOUND']);
  });

  test('a ticket for another record than the proxy uses', async () => {
    await store('other', {});
    expect(await refused({ serviceName: 'other' })).toEqual(NOT_ALLOWED);
  });

  test('an empty record', async () => {
    await store('empty', { value: '' });
    await point({ serviceName: 'empty' });
    expect(await refused({ serviceName: 'empty' })).toEqual([422, 'EMPTY_TOKEN']);
    await point({});
  });

  test('a proxy that was deleted', async () => {
    const proxyId = 'prx_EEEEEEEEEEEEEEEEEEEEEE';
    await point({ proxyId });
    await webhook.storage({ op: 'proxies.delete', proxyId });
    expect(await refused({ proxyId })).toEqual([404, 'NOT_FOUND']);
  });
});

describe('where', () => {
  test.each([
    ['no host at all', undefined],
    ['no host', []],
    ['another host', ['api.test']],
    ['another port', ['http://127.0.0.1:1']],
    ['the port of the scheme alone', ['http://127.0.0.1']],
    ['any host, which is https', ['*']],
  ])('a record stored with %s', async (_what, allowedHosts) => {
    await store('narrow', { allowedHosts });
    await point({ proxyId: 'prx_FFFFFFFFFFFFFFFFFFFFFF', serviceName: 'narrow' });
    const call = { proxyId: 'prx_FFFFFFFFFFFFFFFFFFFFFF', serviceName: 'narrow' };
    expect(await refused(call)).toEqual(NOT_ALLOWED);
  });

  test('a host that SV_EGRESS_ALLOW names is not called by plain http unless the credential was stored for http', async () => {
    await store('slack', { allowedHosts: [upstream.host] });
    const call = { proxyId: 'prx_FFFFFFFFFFFFFFFFFFFFFF', serviceName: 'slack' };
    await point(call);
    expect(await refused(call)).toEqual(NOT_ALLOWED);
    expect((await callProxy(webhook, call)).json.error).toBe(
      `Host \`${upstream.host}\` is called by plain http, which the allowed hosts of \`slack\` do not include. Run \`svault set slack --allow-host ${upstream.url}\`.`,
    );
  });

  test('the log names the entry that would allow a denied host', async () => {
    await store('unlisted', { allowedHosts: ['api.test'] });
    const call = { proxyId: 'prx_FFFFFFFFFFFFFFFFFFFFFF', serviceName: 'unlisted' };
    await point(call);
    expect(await refused(call)).toEqual(NOT_ALLOWED);
    const [entry] = await injections(webhook, 'unlisted');
    expect(entry?.detail['reason']).toBe(`host: ${upstream.url}`);
  });

  test.each([{ 'x-other': '${TOKEN}' }, { authorization: '${TOKEN}', 'x-other': 'a $<TOKEN>' }])(
    'a marker in %j',
    async (headerTemplates) => {
      await point({ headerTemplates: headerTemplates as unknown as Record<string, string> });
      expect(await refused()).toEqual(NOT_ALLOWED);
      await point({});
    },
  );
});

describe('what cannot stand in a header (R11)', () => {
  test.each([
    'tkn_a_0189\r\nX-Injected: 1',
    'tkn_refused\n_0189',
    'tkn_refused\r_0189',
    'tkn_refused\0_0189',
    'tab is legal, escape is not \u001b',
    'tkn_gr\u00f6\u00dfer_018923',
    'tkn_\u65e5\u672c_0189_abcde',
    'tkn_0189\u010aX-Injected: 1',
    '-----BEGIN KEY-----\nabc\n-----END KEY-----\n',
  ])('%j', async (value) => {
    await store('illegal', { value });
    const proxyId = 'prx_GGGGGGGGGGGGGGGGGGGGGG';
    await point({ proxyId, serviceName: 'illegal' });
    expect(await refused({ proxyId, serviceName: 'illegal' })).toEqual([422, 'NOT_INJECTABLE']);
  });

  test('a credential that markers would multiply', async () => {
    await store('large', { value: '0a'.repeat(30_000) });
    const proxyId = 'prx_HHHHHHHHHHHHHHHHHHHHHH';
    await point({
      proxyId,
      serviceName: 'large',
      headerTemplates: { authorization: '${TOKEN}'.repeat(500) },
    });
    expect(await refused({ proxyId, serviceName: 'large' })).toEqual([422, 'NOT_INJECTABLE']);
  });
});

const FORBIDDEN = [
  'host',
  'Host',
  'content-length',
  'Content-Length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'via',
  'forwarded',
  'x-forwarded-for',
  'proxy-authorization',
  'sv-ticket',
];

test.each(FORBIDDEN)('a template for %s is refused when it is stored', async (name) => {
  const { status, json } = await webhook.storage({
    op: 'proxies.put',
    proxyId: PROXY,
    serviceName: 'api',
    upstreamUrl: upstream.url,
    headerTemplates: { [name]: 'x' },
  });
  expect([status, json.code]).toEqual([400, 'INVALID_REQUEST']);
});

test.each(['https://u@api.test/', 'https://u:p@api.test/', 'https://api.test/#x', 'ftp://api.test/', 'x'])(
  'an upstream %j is refused when it is stored (R12)',
  async (upstreamUrl) => {
    const config = { proxyId: PROXY, serviceName: 'api', headerTemplates: {}, upstreamUrl };
    const { status, json } = await webhook.storage({ op: 'proxies.put', ...config });
    expect([status, json.code]).toEqual([400, 'INVALID_REQUEST']);
  },
);

describe('a stored row that was changed outside', () => {
  const changeRow = (columns: { upstream_url?: string; header_templates?: string }): void => {
    const file = new Database(join(webhook.dataDir, 'webhook.db'));
    for (const [column, value] of Object.entries(columns))
      file.prepare(`UPDATE proxy_configs SET ${column} = ? WHERE proxy_id = ?`).run(value, PROXY);
    file.close();
  };

  test.each(FORBIDDEN)('with a template for %s', async (name) => {
    await point({});
    changeRow({ header_templates: JSON.stringify({ authorization: '${TOKEN}', [name]: 'x' }) });
    expect(await refused()).toEqual(NOT_ALLOWED);
  });

  test.each(['a b', 'a:b', 'a\r\nx', ''])('with a header named %j', async (name) => {
    await point({});
    changeRow({ header_templates: JSON.stringify({ [name]: 'x' }) });
    expect(await refused()).toEqual(NOT_ALLOWED);
  });

  test('with a line feed in a template', async () => {
    await point({});
    changeRow({ header_templates: JSON.stringify({ 'x-a': 'a\r\nx-injected: 1' }) });
    expect(await refused()).toEqual(NOT_ALLOWED);
  });

  test.each([
    (host: string) => `http://user:pass@${host}/`,
    (host: string) => `http://@${host}/`,
    (host: string) => `http://${host}/#x`,
    (host: string) => `file://${host}/`,
    (host: string) => `http://api.test\\@${host}/`,
    (host: string) => ` http://${host}/`,
    (host: string) => `http://${host}@api.test/`,
    (host: string) => `http://api.test/?${host}`,
  ])('with the address %s', async (toUrl) => {
    await point({});
    changeRow({ upstream_url: toUrl(upstream.host) });
    expect(await refused()).toEqual(NOT_ALLOWED);
  });

  test.each(['[1]', '{"a":1}', '{"a":null}', '{"a":"x","A":"y"}', 'null', '"x"'])(
    'with templates that are %s',
    async (text) => {
      await point({});
      changeRow({ header_templates: text });
      expect(await refused()).toEqual(NOT_ALLOWED);
    },
  );

  test('with templates that cannot be read', async () => {
    await point({});
    changeRow({ header_templates: 'not json' });
    expect(await refused()).toEqual([500, 'INTERNAL']);
    changeRow({ header_templates: '{}' });
    const [latest] = await injections(webhook);
    expect(latest).toMatchObject({ outcome: 'error', proxyId: PROXY });
  });
});

test('the log has each denial, with its code and without the credential', async () => {
  await store('logged', { allowedHosts: ['api.test'] });
  const proxyId = 'prx_IIIIIIIIIIIIIIIIIIIIII';
  await point({ proxyId, serviceName: 'logged' });
  await refused({ proxyId, serviceName: 'logged' });
  await store('logged', { value: '' });
  await refused({ proxyId, serviceName: 'logged' });
  await store('logged', { value: 'tkn_refused\n_0189' });
  await refused({ proxyId, serviceName: 'logged' });
  const entries = await injections(webhook, 'logged');
  expect(entries.map(({ outcome, detail }) => [outcome, detail['code']])).toEqual([
    ['denied', 'NOT_INJECTABLE'],
    ['denied', 'EMPTY_TOKEN'],
    ['denied', 'DESTINATION_NOT_ALLOWED'],
  ]);
  expect(entries.every((entry) => entry.proxyId === proxyId)).toBe(true);
  expect(tracesOf(TOKEN, Buffer.from(JSON.stringify(await webhook.storage({ op: 'audit.list' }))))).toEqual(
    [],
  );
});

test('and where nothing is wrong, the upstream is called', async () => {
  await point({});
  expect(upstream.connections()).toBe(0);
  const { status, headers } = await callProxy(webhook);
  expect([status, headers['sv-proxy-origin'], upstream.connections()]).toEqual([200, 'upstream', 1]);
});
