/** Bodies that are not the JSON of PROTOCOL.md section 2, and JSON that no schema accepts, are rejected. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HmacKey, authorityOf, signRequest, utf8 } from '@svault/shared';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';

let webhook: BoundWebhook;
beforeAll(async () => {
  webhook = await boundWebhook();
});
afterAll(() => webhook.remove());

describe('JSON', () => {
  const deep = (levels: number): string => `{"op":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  const BAD: readonly [string, string | Uint8Array][] = [
    ['text', 'op=tokens.list'],
    ['an array', '[{"op":"tokens.list"}]'],
    ['a string', '"tokens.list"'],
    ['a number', '7'],
    ['null', 'null'],
    ['cut off', '{"op":"tokens.li'],
    ['followed by more', '{"op":"tokens.list"}{}'],
    ['a member twice', '{"op":"tokens.get","op":"tokens.list"}'],
    ['a member twice, once escaped', '{"op":"tokens.get","\\u006fp":"tokens.list"}'],
    ['__proto__', '{"op":"tokens.list","__proto__":{"limit":1}}'],
    ['__proto__ deep inside', '{"op":"tokens.list","a":[{"__proto__":1}]}'],
    ['a byte order mark', '\uFEFF{"op":"tokens.list"}'],
    ['10,000 levels', deep(10_000)],
    ['a million brackets', '['.repeat(1_000_000)],
    ['UTF-16', Buffer.from('{"op":"tokens.list"}', 'utf16le')],
    ['bytes that are no UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)],
    ['a lone surrogate', '{"op":"tokens.list","a":"\\ud800"}'],
    ['a comment', '{"op":"tokens.list"/**/}'],
    ['a trailing comma', '{"op":"tokens.list",}'],
    ['NaN', '{"op":"tokens.list","limit":NaN}'],
    ['an integer with exponent', '{"op":"tokens.list","limit":1e1}'],
    ['an integer above 2^53', '{"op":"tokens.list","limit":9007199254740993}'],
    ['nothing but spaces', '   '],
  ];
  const signed = (path: string, key: HmacKey, body: string | Uint8Array, type: string) =>
    signRequest({
      method: 'POST',
      authority: authorityOf(webhook.env['SV_WEBHOOK_URL'] ?? ''),
      path,
      body: Buffer.from(body),
      contentType: type,
      key,
      nowMs: webhook.clock.now(),
    });
  /** As whoever has the right to be heard. */
  async function post(path: string, body: string | Uint8Array, type = 'application/json') {
    const code = crypto.randomUUID();
    const headers =
      path === '/v1/store'
        ? { authorization: `Bearer ${webhook.storeTicket('doc')}`, 'content-type': type }
        : signed(
            path,
            path === '/v1/exchange' ? { id: 'bind', secret: utf8(code) } : webhook.key,
            body,
            type,
          );
    return webhook.send(path, { method: 'POST', headers, body: Buffer.from(body) });
  }

  test.each(BAD)('%s is 400 at every endpoint', async (_what, body) => {
    for (const path of ['/v1/storage', '/v1/health', '/v1/store', '/v1/exchange']) {
      const { status, json } = await post(path, body);
      const isTooLarge = path === '/v1/exchange' && body.length > 1024;
      const refused = isTooLarge ? [413, 'TOO_LARGE'] : [400, 'INVALID_REQUEST'];
      expect([path, status, json.code]).toEqual([path, ...refused]);
    }
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/json5',
    'text/json',
  ])('under the type %s is 400', async (type) => {
    for (const path of ['/v1/storage', '/v1/health', '/v1/store', '/v1/exchange']) {
      const { status, json } = await post(path, '{"op":"tokens.list"}', type);
      expect([path, status, json.code]).toEqual([path, 400, 'INVALID_REQUEST']);
    }
  });

  test.each<[string, object]>([
    ['op of another type', { op: 7 }],
    ['an op from a prototype', { op: 'constructor' }],
    ['no op', {}],
    ['a limit of another type', { op: 'tokens.list', limit: '1' }],
    ['a limit that is no integer', { op: 'tokens.list', limit: 1.5 }],
    ['a limit of 0', { op: 'tokens.list', limit: 0 }],
    ['a limit too large', { op: 'tokens.list', limit: 501 }],
    ['a cursor of another type', { op: 'tokens.list', cursor: {} }],
    ['a cursor of its own', { op: 'audit.list', cursor: 'LTE' }],
    ['a time that is none', { op: 'tokens.list', expiresBefore: 'yesterday' }],
    ['a version below 0', { op: 'tokens.delete', serviceName: 'a', ifVersion: -1 }],
    ['events that are no list', { op: 'audit.append', events: {} }],
    ['an event that is no object', { op: 'audit.append', events: ['x'] }],
    ['an empty batch', { batch: [] }],
    ['a batch that is no list', { batch: { 0: { op: 'tokens.list' } } }],
    ['a batch too large', { batch: Array(101).fill({ op: 'tokens.list' }) }],
  ])('%s is 400', async (_what, body) => {
    const { status, json } = await post('/v1/storage', JSON.stringify(body));
    expect([status, json.code]).toEqual([400, 'INVALID_REQUEST']);
  });

  test('a batch inside a batch is refused in its place', async () => {
    const nested = { batch: [{ batch: [{ op: 'tokens.list' }] }, 'x', null, { op: 'tokens.list' }] };
    const { status, json } = await post('/v1/storage', JSON.stringify(nested));
    expect([status, json.results.map(({ code = 'fine' }: { code?: string }) => code)]).toEqual([
      200,
      ['INVALID_REQUEST', 'INVALID_REQUEST', 'INVALID_REQUEST', 'fine'],
    ]);
  });

  test.each([
    ['a slash', 'a/b'],
    ['NUL', 'a\0b'],
    ['a control character', 'a\u0085b'],
    ['10 kB', 'a'.repeat(10_000)],
    ['256 bytes', 'é'.repeat(128)],
    ['129 characters', 'a'.repeat(129)],
    ['no NFC', 'e\u0301'],
    ['a space at the end', 'a '],
    ['nothing', ''],
    ['a dot', '.'],
    ['two dots', '..'],
    ['another type', 7],
    ['a list', ['a']],
  ])('a service name with %s is refused everywhere', async (_what, serviceName) => {
    const proxy = { proxyId: 'prx_A', upstreamUrl: 'https://a.test/', headerTemplates: {} };
    for (const operation of [
      { op: 'tokens.get', serviceName },
      { op: 'tokens.delete', serviceName },
      { op: 'proxies.put', ...proxy, serviceName },
      { op: 'audit.list', serviceName },
    ])
      expect([operation.op, (await webhook.storage(operation)).json.code]).toEqual([
        operation.op,
        'INVALID_REQUEST',
      ]);
    const ticket = retold(webhook.credentialTicket('doc'), { svc: serviceName });
    expect((await webhook.send(`/v1/credential?ticket=${ticket}`)).status).toBe(401);
    const headers = { authorization: `Bearer ${retold(webhook.storeTicket('doc'), { svc: serviceName })}` };
    expect((await webhook.send('/v1/store', { method: 'POST', headers })).status).toBe(401);
  });

  /** The same ticket with other claims, rightly signed, of whatever length. */
  function retold(ticket: string, changes: object): string {
    const [header = '', payload = ''] = ticket.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const input = `${header}.${Buffer.from(JSON.stringify({ ...claims, ...changes })).toString('base64url')}`;
    return `${input}.${createHmac('sha256', webhook.key.secret).update(input).digest('base64url')}`;
  }
});
