import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditItem, CAPABILITIES, storageAnswerSchemas } from '@svault/shared/schemas';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';

let webhook: BoundWebhook;
beforeAll(async () => {
  webhook = await boundWebhook();
});
afterAll(() => webhook.remove());

const INVALID = { status: 400, json: { code: 'INVALID_REQUEST' } };
const CONFLICT = { status: 409, json: { code: 'VERSION_CONFLICT' } };
const NOT_FOUND = { status: 404, json: { code: 'NOT_FOUND' } };

describe('tokens', () => {
  beforeAll(async () => {
    for (const name of ['a', 'b', 'ä', 'c'])
      await webhook.store(name, { tokenType: 'PlainText', value: `secret-of-${name}` });
    await webhook.store('d', { tokenType: 'JWT', accessToken: 'x', expiryTime: '2027-01-01T00:00:00Z' });
  });

  it('are listed page by page, without a secret', async () => {
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const { json, text } = await webhook.storage({ op: 'tokens.list', limit: 2, cursor });
      storageAnswerSchemas['tokens.list'].parse(json);
      expect(text).not.toContain('secret-of');
      names.push(...json.items.map(({ serviceName }: { serviceName: string }) => serviceName));
      cursor = json.nextCursor;
    } while (cursor !== undefined);
    expect(names).toEqual(['a', 'b', 'c', 'd', 'ä']);
  });

  it('are listed by expiry', async () => {
    const list = async (expiresBefore: string) =>
      (await webhook.storage({ op: 'tokens.list', expiresBefore })).json.items.length;
    expect(await list('2027-01-01T00:00:00.001Z')).toBe(1);
    expect(await list('2027-01-01T00:00:00Z')).toBe(0);
  });

  it('are reported one by one, or not at all', async () => {
    const { json } = await webhook.storage({ op: 'tokens.get', serviceName: 'a' });
    storageAnswerSchemas['tokens.get'].parse(json);
    expect(json).toMatchObject({ serviceName: 'a', version: 1, empty: false, hasRefreshToken: false });
    expect(await webhook.storage({ op: 'tokens.get', serviceName: 'none' })).toMatchObject(NOT_FOUND);
  });

  it('are deleted at the version asked for, once and again', async () => {
    await webhook.store('gone', { tokenType: 'PlainText', value: 'v' });
    const remove = (ifVersion?: number) =>
      webhook.storage({ op: 'tokens.delete', serviceName: 'gone', ifVersion });
    expect(await remove(2)).toMatchObject(CONFLICT);
    expect(await remove(0)).toMatchObject(CONFLICT);
    expect((await remove(1)).json).toEqual({ deleted: true });
    expect((await remove(1)).json).toEqual({ deleted: false });
    expect((await remove()).json).toEqual({ deleted: false });
    expect((await webhook.credential('gone')).json.code).toBe('NOT_FOUND');
  });
});

describe('proxies', () => {
  const config = {
    proxyId: 'prx_1',
    serviceName: 'a',
    upstreamUrl: 'https://mcp.test/v1?x=1',
    headerTemplates: { Authorization: 'Bearer ${TOKEN}', value: 'a header may be called like a secret' },
  };

  it('are kept as put, by version', async () => {
    const put = (more: object) => webhook.storage({ op: 'proxies.put', ...config, ...more });
    expect((await put({ ifVersion: 0 })).json).toEqual({ ...config, version: 1 });
    // Equal to what is stored: unchanged, whatever version was expected.
    expect((await put({ ifVersion: 0 })).json.version).toBe(1);
    expect((await put({ ifVersion: 7 })).json.version).toBe(1);
    expect(await put({ serviceName: 'b', ifVersion: 0 })).toMatchObject(CONFLICT);
    expect((await put({ serviceName: 'b', ifVersion: 1 })).json.version).toBe(2);
    expect((await put({})).json.version).toBe(3);
    expect((await webhook.storage({ op: 'proxies.get', proxyId: 'prx_1' })).json).toEqual({
      ...config,
      version: 3,
    });
  });

  it('are listed page by page and deleted for good, their versions not reused', async () => {
    await webhook.storage({ op: 'proxies.put', ...config, proxyId: 'prx_2' });
    const first = (await webhook.storage({ op: 'proxies.list', limit: 1 })).json;
    const { nextCursor: cursor } = first;
    const second = (await webhook.storage({ op: 'proxies.list', limit: 1, cursor })).json;
    expect([first.items[0].proxyId, second.items[0].proxyId, second.nextCursor]).toEqual([
      'prx_1',
      'prx_2',
      undefined,
    ]);

    const remove = (ifVersion?: number) =>
      webhook.storage({ op: 'proxies.delete', proxyId: 'prx_2', ifVersion });
    expect(await remove(5)).toMatchObject(CONFLICT);
    expect((await remove(1)).json).toEqual({ deleted: true });
    expect((await remove(1)).json).toEqual({ deleted: false });
    expect(await webhook.storage({ op: 'proxies.get', proxyId: 'prx_2' })).toMatchObject(NOT_FOUND);
    expect((await webhook.storage({ op: 'proxies.put', ...config, proxyId: 'prx_2' })).json.version).toBe(2);
  });

  it.each([
    ['a routing header', { headerTemplates: { Host: 'x' } }],
    ['a hop-by-hop header', { headerTemplates: { 'transfer-encoding': 'x' } }],
    ['a forwarding header', { headerTemplates: { 'X-Forwarded-For': 'x' } }],
    ['a header of the protocol', { headerTemplates: { 'sv-ticket': 'x' } }],
    ['a proxy header', { headerTemplates: { 'proxy-authorization': 'x' } }],
    ['a header that is no token', { headerTemplates: { 'a b': 'x' } }],
    ['a header twice by case', { headerTemplates: { 'X-A': 'x', 'x-a': 'y' } }],
    ['a value with a line break', { headerTemplates: { 'x-a': 'a\r\nhost: b' } }],
    ['a value above 4 KiB', { headerTemplates: { 'x-a': 'x'.repeat(4097) } }],
    [
      'more than 20 headers',
      { headerTemplates: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`x-${i}`, 'x'])) },
    ],
    ['user info in the address', { upstreamUrl: 'https://u:p@mcp.test/' }],
    ['a fragment in the address', { upstreamUrl: 'https://mcp.test/#x' }],
    ['another scheme', { upstreamUrl: 'file:///etc/passwd' }],
  ])('refuse %s', async (_what, more) => {
    expect(await webhook.storage({ op: 'proxies.put', ...config, proxyId: 'prx_3', ...more })).toMatchObject(
      INVALID,
    );
  });
});

describe('audit', () => {
  const event = (id: string, more: object = {}) => ({
    id,
    eventType: 'AGENT_CREDENTIAL_ACCESS',
    timestamp: '2026-11-20T12:00:00.000Z',
    outcome: 'success',
    ...more,
  });

  it('writes an event once per id, and cannot speak for the webhook', async () => {
    const append = (events: object[]) => webhook.storage({ op: 'audit.append', events });
    const events = [
      event('evt_1', { agentId: 'agt_x', serviceName: 'a', source: 'webhook', detail: { ratio: 0.5 } }),
      event('evt_2'),
    ];
    expect((await append(events)).json).toEqual({ accepted: 2 });
    const before = (await webhook.storage({ op: 'audit.list' })).json.head;
    expect((await append([...events, event('evt_1', { outcome: 'denied' })])).json).toEqual({ accepted: 3 });
    expect((await webhook.storage({ op: 'audit.list' })).json.head).toEqual(before);
    const { json } = await webhook.storage({ op: 'audit.list', agentId: 'agt_x' });
    storageAnswerSchemas['audit.list'].parse(json);
    expect(json.items).toEqual([
      {
        ...event('evt_1', { agentId: 'agt_x', serviceName: 'a', detail: { ratio: 0.5 } }),
        source: 'service',
        seq: expect.any(Number),
      },
    ]);
  });

  it('pages newest first, with a head that grows by one', async () => {
    const { json: first } = await webhook.storage({ op: 'audit.list', limit: 2 });
    const { json: second } = await webhook.storage({ op: 'audit.list', limit: 2, cursor: first.nextCursor });
    const seqs = [...first.items, ...second.items].map(({ seq }: { seq: number }) => seq);
    expect(seqs).toEqual([0, 1, 2, 3].map((offset) => first.head.seq - offset));
    await webhook.storage({ op: 'audit.append', events: [event('evt_9')] });
    const { head } = (await webhook.storage({ op: 'audit.list', limit: 1 })).json;
    expect(head).toMatchObject({ epoch: first.head.epoch, seq: first.head.seq + 1 });
  });

  it('holds what the webhook did itself', async () => {
    await webhook.store('logged', { tokenType: 'PlainText', value: 'v' });
    await webhook.credential('logged');
    await webhook.credential('logged', { cnf: { jkt: 'x'.repeat(43) } });
    await webhook.store('logged', { tokenType: 'Nothing' });
    await webhook.store('logged', { tokenType: 'PlainText', value: 'v' }, { ifv: 9 });
    await webhook.storage({ op: 'tokens.delete', serviceName: 'logged' });
    await webhook.credential('logged');
    const { json } = await webhook.storage({ op: 'audit.list', serviceName: 'logged' });
    const told = json.items.map((item: AuditItem) => [
      item.source,
      item.eventType,
      item.outcome,
      item.detail?.['code'],
    ]);
    expect(told.reverse()).toEqual([
      ['webhook', 'CREDENTIAL_STORED', 'success', undefined],
      ['webhook', 'CREDENTIAL_DELIVERED', 'success', undefined],
      ['webhook', 'CREDENTIAL_DELIVERED', 'success', undefined],
      ['webhook', 'CREDENTIAL_STORED', 'denied', 'INVALID_REQUEST'],
      ['webhook', 'CREDENTIAL_STORED', 'denied', 'VERSION_CONFLICT'],
      ['webhook', 'CREDENTIAL_DELETED', 'success', undefined],
      ['webhook', 'CREDENTIAL_DELIVERED', 'denied', 'NOT_FOUND'],
    ]);
  });

  it.each([
    ['501 events', Array.from({ length: 501 }, (_, i) => event(`evt_${i}`))],
    ['an event above 8 KiB', [event('evt_big', { detail: { text: 'x'.repeat(8192) } })]],
    ['an event without an id', [{ ...event('x'), id: undefined }]],
    ['a time that is none', [event('x', { timestamp: 'yesterday' })]],
  ])('refuses %s', async (_what, events) => {
    expect(await webhook.storage({ op: 'audit.append', events })).toMatchObject(INVALID);
  });
});

describe('POST /v1/storage', () => {
  it.each([
    ['an unknown op', { op: 'tokens.put' }],
    ['no op', {}],
    ['a limit of 0', { op: 'tokens.list', limit: 0 }],
    ['a limit above 500', { op: 'tokens.list', limit: 501 }],
    ['a limit above 100 for the log', { op: 'audit.list', limit: 101 }],
    ['a cursor of nobody', { op: 'tokens.list', cursor: '***' }],
    ['a cursor of nobody for the log', { op: 'audit.list', cursor: 'YWJj' }],
    ['a name that is none', { op: 'tokens.get', serviceName: 'a/b' }],
    ['an empty batch', { batch: [] }],
    ['a batch of 101', { batch: Array<object>(101).fill({ op: 'tokens.list' }) }],
    ['a batch that is none', { batch: {} }],
  ])('refuses %s', async (_what, body) => {
    expect(await webhook.storage(body)).toMatchObject(INVALID);
  });

  it.each([
    { op: 'tokens.get', serviceName: 'a', value: 'x' },
    { op: 'tokens.get', serviceName: 'a', PRIVATEKEY: 'x' },
    { op: 'proxies.get', proxyId: 'p', more: [{ deep: { refreshToken: 'x' } }] },
    { op: 'audit.append', events: [{ detail: { Password: 'x' } }] },
    { op: 'unknown', secret: 1 },
    { batch: [{ op: 'tokens.list' }], accessToken: 'x' },
  ])('refuses a name of a secret in %j', async (body) => {
    expect(await webhook.storage(body)).toMatchObject({ status: 400, json: { code: 'SECRET_FIELD' } });
  });

  // spec: POST /v1/storage | service, signed | Metadata operations: token listings, proxy configs, audit events, batch listing.
  it('runs a batch in order, each operation on its own', async () => {
    const config = { serviceName: 'a', upstreamUrl: 'https://mcp.test', headerTemplates: {} };
    const { status, json } = await webhook.storage({
      batch: [
        { op: 'proxies.put', proxyId: 'prx_b', ...config },
        { op: 'proxies.get', proxyId: 'prx_b' },
        { op: 'nothing' },
        { op: 'tokens.get', serviceName: 'a', secret: 'x' },
        { batch: [{ op: 'tokens.list' }] },
        'not an operation',
        { op: 'proxies.delete', proxyId: 'prx_b', ifVersion: 9 },
        { op: 'proxies.delete', proxyId: 'prx_b' },
        { op: 'proxies.get', proxyId: 'prx_b' },
      ],
    });
    expect(status).toBe(200);
    expect(
      json.results.map((result: Record<string, unknown>) => result['code'] ?? Object.keys(result)[0]),
    ).toEqual([
      'proxyId',
      'proxyId',
      'INVALID_REQUEST',
      'SECRET_FIELD',
      'INVALID_REQUEST',
      'INVALID_REQUEST',
      'VERSION_CONFLICT',
      'deleted',
      'NOT_FOUND',
    ]);
  });

  it('takes null as absent and any parameter of the content type', async () => {
    const body = { op: 'tokens.list', cursor: null, limit: 1 };
    const options = { contentType: 'application/json;charset=utf-8' };
    expect((await webhook.signed('/v1/storage', body, options)).status).toBe(200);
    expect(await webhook.signed('/v1/storage', body, { contentType: 'text/json' })).toMatchObject(INVALID);
    expect(await webhook.signed('/v1/storage', '[]')).toMatchObject(INVALID);
    expect(await webhook.signed('/v1/storage')).toMatchObject(INVALID);
  });

  it('asks for a signature before it reads a body, and for POST', async () => {
    const unsigned = await webhook.send('/v1/storage', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    });
    expect(unsigned).toMatchObject({ status: 401, json: { code: 'SIGNATURE_INVALID' } });
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
      const refused = await webhook.send('/v1/storage', { method });
      expect([method, refused.status, refused.headers.get('allow')]).toEqual([method, 405, 'POST']);
    }
  });
});

describe('/v1/health', () => {
  // spec: GET or POST /v1/health | service | GET is unauthenticated. POST is HMAC-signed.
  it('tells a stranger nothing and the service what is there', async () => {
    expect((await webhook.send('/v1/health')).json).toEqual({ status: 'ok' });
    const { json } = await webhook.signed('/v1/health', {});
    expect(json).toEqual({
      status: 'ok',
      protocol: 'v1',
      version: expect.any(String),
      webhookId: webhook.webhookId,
      capabilities: [...CAPABILITIES],
      time: new Date(webhook.clock.now()).toISOString(),
    });
    const head = await webhook.send('/v1/health', { method: 'HEAD' });
    expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET, POST']);
    expect((await webhook.send('/v1/health', { method: 'POST' })).json.code).toBe('SIGNATURE_INVALID');
  });

  // spec: Service-to-webhook paths are prefixed /v1.
  it('exists with the probes and nothing else', async () => {
    expect((await webhook.send('/healthz')).json).toEqual({ status: 'ok' });
    expect((await webhook.send('/readyz')).json).toEqual({ status: 'ok' });
    for (const path of ['/', '/v1', '/V1/health', '/v1/health/', '/metrics'])
      expect(await webhook.send(path)).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } });
  });
});
