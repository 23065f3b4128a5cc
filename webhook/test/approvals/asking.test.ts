/** `POST /v1/approvals` and `/v1/approvals/list` (PROTOCOL.md section 5.10). */
import Database from 'better-sqlite3';
import { approvalAnswerSchema } from '@svault/shared/schemas';
import { beforeEach, describe, expect, test } from 'vitest';
import { AGENT, APPROVAL, CREDENTIAL, ask, approved, decide, enrol, statusOf } from '../support/approvals.ts';
import { type BoundWebhook, webhookOfTest } from '../support/bound-webhook.ts';
import { PROXY, putProxy } from '../support/proxy-calls.ts';

const SECRET = { tokenType: 'PlainText', value: 'tkn_approvals_0123456789', approval: APPROVAL };
const MINUTE = 60_000;
const UPSTREAM = 'https://api.test/v1';
const GET = { type: 'proxy', proxyId: PROXY, method: 'GET', target: '/items?a=1' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

let webhook: BoundWebhook;
beforeEach(async () => {
  webhook = await webhookOfTest();
  await webhook.store('api', { ...SECRET, allowedHosts: ['api.test'] });
  await putProxy(webhook, UPSTREAM, { kind: 'http' });
});

const agent = (at: number): string => `agt_${String(at).padStart(22, '0')}`;

describe('the setting of a record', () => {
  test('is listed as it was stored', async () => {
    const approval = { by: 'passkey', for: ['proxy'], standingSeconds: 3600 };
    await webhook.store('other', { ...SECRET, approval });
    const { json } = await webhook.storage({ op: 'tokens.get', serviceName: 'other' });
    expect(json.approval).toEqual(approval);
  });

  test.each([
    { by: 'sms', for: ['proxy'] },
    { by: 'passkey', for: [] },
    { by: 'passkey', for: ['proxy', 'proxy'] },
    { by: 'passkey', for: ['store'] },
    { by: 'passkey', for: ['proxy'], standingSeconds: 59 },
    { by: 'passkey', for: ['proxy'], standingSeconds: 28_801 },
    { by: 'passkey', for: ['proxy'], standing: 60 },
    'passkey',
  ])('is refused as %j', async (approval) => {
    expect(await webhook.store('other', { ...SECRET, approval })).toMatchObject({ status: 400 });
  });

  test('for proxies alone is stored with a warning that an agent still fetches the credential', async () => {
    const approval = { by: 'passkey', for: ['proxy'] };
    expect((await webhook.store('other', { ...SECRET, approval })).json.warnings).toHaveLength(1);
    const more = { allowedHosts: ['api.test'], delivery: 'proxy-only' };
    expect((await webhook.store('other', { ...SECRET, approval, ...more })).json.warnings).toBeUndefined();
  });
});

describe('asking', () => {
  test('answers where it is decided, and until when', async () => {
    const { status, json } = await ask(webhook, CREDENTIAL, { name: 'Bot', reason: 'to deploy' });
    expect(status).toBe(200);
    expect(approvalAnswerSchema.parse(json)).toEqual({
      id: json.id,
      status: 'pending',
      askedAt: '2026-11-20T12:00:00.000Z',
      expiresAt: '2026-11-20T12:15:00.000Z',
      url: `https://webhook.test/approvals/${json.id}`,
    });
  });

  test('answers that nothing is required where the record says so', async () => {
    await webhook.store('plain', { ...SECRET, approval: undefined });
    const notRequired = { status: 200, json: { status: 'not_required' } };
    expect(await ask(webhook, CREDENTIAL, { serviceName: 'plain' })).toMatchObject(notRequired);
    await webhook.store('half', { ...SECRET, approval: { by: 'passkey', for: ['proxy'] } });
    expect(await ask(webhook, CREDENTIAL, { serviceName: 'half' })).toMatchObject(notRequired);
  });

  test.each<[string, object, object, number, string]>([
    ['an unknown credential', CREDENTIAL, { serviceName: 'none' }, 404, 'NOT_FOUND'],
    ['an unknown proxy', { ...GET, proxyId: 'prx_none' }, {}, 404, 'NOT_FOUND'],
    ['a proxy of another credential', GET, { serviceName: 'other' }, 403, 'DESTINATION_NOT_ALLOWED'],
    ['a path that leads out', { ...GET, target: '/a/../../b' }, {}, 403, 'REQUEST_NOT_ALLOWED'],
    ['a request of another kind', { ...GET, target: undefined }, {}, 403, 'DESTINATION_NOT_ALLOWED'],
    ['a credential that is proxy-only', CREDENTIAL, { serviceName: 'proxied' }, 403, 'DELIVERY_NOT_ALLOWED'],
    ['a reason of 501 characters', CREDENTIAL, { reason: 'a'.repeat(501) }, 400, 'INVALID_REQUEST'],
    ['a name of 101 characters', CREDENTIAL, { name: 'a'.repeat(101) }, 400, 'INVALID_REQUEST'],
    ['a body beyond 16 KiB', { ...GET, body: base64('a'.repeat(17 * 1024)) }, {}, 400, 'INVALID_REQUEST'],
    ['a body that is no base64', { ...GET, body: 'a' }, {}, 400, 'INVALID_REQUEST'],
    [
      'a digest without its length',
      { ...GET, bodyDigest: `sha-256=:${'A'.repeat(43)}=:` },
      {},
      400,
      'INVALID_REQUEST',
    ],
    ['a header in two lines', { ...GET, fields: [['a', 'b\r\nc']] }, {}, 400, 'INVALID_REQUEST'],
    [
      '101 headers',
      { ...GET, fields: Array.from({ length: 101 }, () => ['a', 'b']) },
      {},
      400,
      'INVALID_REQUEST',
    ],
    ['CONNECT', { ...GET, method: 'CONNECT' }, {}, 400, 'INVALID_REQUEST'],
  ])('is refused for %s', async (_what, operation, more, status, code) => {
    await webhook.store('other', SECRET);
    await webhook.store('proxied', { ...SECRET, delivery: 'proxy-only', allowedHosts: ['api.test'] });
    expect(await ask(webhook, operation, more)).toMatchObject({ status, json: { code } });
  });

  test('is refused where the rules of the record would refuse the use', async () => {
    const requests = [{ methods: ['GET'], paths: ['/v1/items'] }];
    await webhook.store('api', { ...SECRET, allowedHosts: ['api.test'], requests });
    expect(await ask(webhook, GET)).toMatchObject({ status: 200, json: { status: 'pending' } });
    expect(await ask(webhook, { ...GET, target: '/other' })).toMatchObject({
      status: 403,
      json: { code: 'REQUEST_NOT_ALLOWED', cause: 'rule' },
    });
  });

  test('takes at most 64 KiB', async () => {
    const { status } = await webhook.signed('/v1/approvals', { filler: 'a'.repeat(64 * 1024) });
    expect(status).toBe(413);
  });

  test('for the same use again joins what waits, whatever else is said', async () => {
    const first = (await ask(webhook, GET, { reason: 'one' })).json;
    const second = (await ask(webhook, { ...GET, fields: [['user-agent', 'x']] }, { reason: 'two' })).json;
    expect(second.id).toBe(first.id);
    const others = [
      await ask(webhook, GET, { sub: 'agt_BBBBBBBBBBBBBBBBBBBBBB' }),
      await ask(webhook, { ...GET, method: 'HEAD' }),
      await ask(webhook, { ...GET, target: '/items?a=2' }),
      await ask(webhook, { ...GET, fields: [['x-account', '1']] }),
      await ask(webhook, { ...GET, body: base64('x') }),
      await ask(webhook, CREDENTIAL),
    ];
    expect(new Set([first.id, ...others.map(({ json }) => json.id)]).size).toBe(7);
  });

  test('again is answered with the denial for ten minutes', async () => {
    const ana = await enrol(webhook);
    const id = await approved(webhook, ana, GET, { decision: 'deny' });
    webhook.clock.advance(10 * MINUTE - 1);
    expect((await ask(webhook, GET)).json).toMatchObject({ id, status: 'denied' });
    webhook.clock.advance(1);
    expect((await ask(webhook, GET)).json).toMatchObject({ status: 'pending' });
  });

  test('again is answered with the approval until that is used or over', async () => {
    const ana = await enrol(webhook);
    const id = await approved(webhook, ana, CREDENTIAL);
    expect((await ask(webhook, CREDENTIAL)).json).toMatchObject({ id, status: 'approved' });
    expect(await webhook.credential('api')).toMatchObject({ status: 200 });
    expect((await ask(webhook, CREDENTIAL)).json).toMatchObject({ status: 'pending' });
    expect(await statusOf(webhook, id)).toBe('used');
  });

  test('is bounded for a caller, for a credential and in all, until what waits has expired', async () => {
    const asked = (at: number, target: string, serviceName = 'api') =>
      serviceName === 'api'
        ? ask(webhook, { ...GET, target }, { sub: agent(at) })
        : ask(webhook, CREDENTIAL, { sub: agent(at), serviceName });
    const refused = { status: 429, json: { code: 'RATE_LIMITED', retryAfter: 60 } };
    for (let at = 0; at < 20; at += 1) expect((await asked(0, `/${at}`)).status).toBe(200);
    expect(await asked(0, '/more')).toMatchObject(refused);
    for (let at = 20; at < 100; at += 1) expect((await asked(at, '/')).status).toBe(200);
    expect(await asked(100, '/')).toMatchObject(refused);
    for (let service = 0; service < 9; service += 1) {
      await webhook.store(`s${service}`, SECRET);
      for (let at = 0; at < 100; at += 1)
        expect((await asked(1000 + 100 * service + at, '', `s${service}`)).status).toBe(200);
    }
    await webhook.store('last', SECRET);
    expect(await asked(5000, '', 'last')).toMatchObject(refused);
    webhook.clock.advance(15 * MINUTE);
    expect(await asked(0, '/more')).toMatchObject({ status: 200 });
  });
});

describe('asking again', () => {
  test('leaves out what is unknown', async () => {
    const { id, expiresAt } = (await ask(webhook, CREDENTIAL)).json;
    const { json } = await webhook.signed('/v1/approvals/list', { ids: [`apr_${'A'.repeat(22)}`, id] });
    expect(json).toEqual({ items: [{ id, status: 'pending', expiresAt }] });
  });

  test('takes 1 to 100 ids', async () => {
    const id = `apr_${'A'.repeat(22)}`;
    for (const ids of [[], Array.from({ length: 101 }, () => id), ['x'], id])
      expect(await webhook.signed('/v1/approvals/list', { ids })).toMatchObject({ status: 400 });
  });

  test('tells each state', async () => {
    const ana = await enrol(webhook);
    const { id } = (await ask(webhook, CREDENTIAL)).json;
    const denied = await approved(webhook, ana, GET, { decision: 'deny' });
    expect([await statusOf(webhook, id), await statusOf(webhook, denied)]).toEqual(['pending', 'denied']);
    await decide(webhook, id, ana);
    expect(await statusOf(webhook, id)).toBe('approved');
    webhook.clock.advance(15 * MINUTE);
    expect(await statusOf(webhook, id)).toBe('expired');
  });

  test('finds nothing of what was asked once it has expired, and not even its id a day later', async () => {
    const { id } = (await ask(webhook, { ...GET, body: base64('the body') }, { reason: 'the reason' })).json;
    const rows = (what: string): number => {
      const db = new Database(`${webhook.dataDir}/webhook.db`, { readonly: true });
      const count = db.prepare<[], number>(`SELECT count(${what}) FROM approvals`).pluck().get() ?? 0;
      db.close();
      return count;
    };
    expect([rows('text'), rows('shown')]).toEqual([1, 1]);
    webhook.clock.advance(15 * MINUTE);
    await webhook.restart();
    await expect.poll(() => [rows('text'), rows('shown')]).toEqual([0, 0]);
    expect(await statusOf(webhook, id)).toBe('expired');
    webhook.clock.advance(25 * 60 * MINUTE);
    await webhook.restart();
    await expect.poll(() => rows('*')).toBe(0);
    expect(await statusOf(webhook, id)).toBeUndefined();
  });

  test('is signed, as asking is', async () => {
    for (const path of ['/v1/approvals', '/v1/approvals/list'])
      expect(await webhook.send(path, { method: 'POST' })).toMatchObject({ status: 401 });
  });
});

test('Requests survive a restart, with their decisions', async () => {
  const ana = await enrol(webhook);
  const waiting = (await ask(webhook, GET)).json.id;
  await approved(webhook, ana, CREDENTIAL);
  await webhook.restart();
  expect(await decide(webhook, waiting, ana)).toMatchObject({ status: 200 });
  expect(await webhook.credential('api', { sub: AGENT })).toMatchObject({ status: 200 });
});
