/** `/v1/storage` and what else there is, beyond the conformance suite. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditItem, CAPABILITIES } from '@svault/shared/schemas';
import { type BoundWebhook, SERVICE_URL, boundWebhook } from '../support/bound-webhook.ts';

let webhook: BoundWebhook;
beforeAll(async () => {
  webhook = await boundWebhook();
});
afterAll(() => webhook.remove());

it('records are listed in the byte order of their names', async () => {
  for (const name of ['a', 'b', 'ä', 'c', 'B'])
    await webhook.store(name, { tokenType: 'PlainText', value: `secret-of-${name}` });
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const { json } = await webhook.storage({ op: 'tokens.list', limit: 2, cursor });
    names.push(...json.items.map(({ serviceName }: { serviceName: string }) => serviceName));
    cursor = json.nextCursor;
  } while (cursor !== undefined);
  expect(names).toEqual(['B', 'a', 'b', 'c', 'ä']);
});

it.each([
  { op: 'tokens.list', cursor: '***' },
  { op: 'proxies.list', cursor: '_w' },
  { op: 'audit.list', cursor: 'YWJj' },
  { op: 'audit.list', cursor: 'LTE' },
  { op: 'constructor' },
])('%j is rejected', async (body) => {
  expect(await webhook.storage(body)).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST' } });
});

// spec: POST /v1/storage | service, signed | Metadata operations: token listings, proxy configs, audit events, batch listing.
it('the log is listed newest first, filtered by agent or credential too, and includes the webhook’s own events', async () => {
  const serviceName = 'logged';
  await webhook.store(serviceName, { tokenType: 'PlainText', value: 'v' });
  const { json: before } = await webhook.storage({ op: 'audit.list', limit: 1 });
  await webhook.credential(serviceName);
  await webhook.credential(serviceName, { cnf: { jkt: 'x'.repeat(43) }, sub: 'agt_BBBBBBBBBBBBBBBBBBBBBB' });
  await webhook.store(serviceName, { tokenType: 'Nothing' });
  await webhook.store(serviceName, { tokenType: 'PlainText', value: 'v' }, { ifv: 9 });
  await webhook.storage({ op: 'tokens.delete', serviceName });
  await webhook.credential(serviceName);
  const { json: first } = await webhook.storage({ op: 'audit.list', serviceName, limit: 3 });
  const { json: rest } = await webhook.storage({ op: 'audit.list', serviceName, cursor: first.nextCursor });
  const items: AuditItem[] = [...first.items, ...rest.items];
  expect(first.head).toMatchObject({ epoch: before.head.epoch, seq: before.head.seq + 6 });
  expect(items.map(({ seq }) => seq)).toEqual(items.map((_, at) => first.head.seq - at));
  expect(
    items
      .map(({ source, eventType, outcome, detail }) => [source, eventType, outcome, detail?.['code']])
      .reverse(),
  ).toEqual([
    ['webhook', 'CREDENTIAL_STORED', 'success', undefined],
    ['webhook', 'CREDENTIAL_DELIVERED', 'success', undefined],
    ['webhook', 'CREDENTIAL_DELIVERED', 'success', undefined],
    ['webhook', 'CREDENTIAL_STORED', 'denied', 'INVALID_REQUEST'],
    ['webhook', 'CREDENTIAL_STORED', 'denied', 'VERSION_CONFLICT'],
    ['webhook', 'CREDENTIAL_DELETED', 'success', undefined],
    ['webhook', 'CREDENTIAL_DELIVERED', 'denied', 'NOT_FOUND'],
  ]);
  const agentId = 'agt_BBBBBBBBBBBBBBBBBBBBBB';
  for (const query of [{ agentId }, { agentId, serviceName }])
    expect((await webhook.storage({ op: 'audit.list', ...query })).json.items).toMatchObject([
      { eventType: 'CREDENTIAL_DELIVERED', agentId },
    ]);
});

it('a page of the log has no more than its reader takes, and the next one goes on where it ends', async () => {
  const timestamp = new Date(webhook.clock.now()).toISOString();
  const event = { eventType: 'LARGE', timestamp, outcome: 'success', detail: { filler: 'x'.repeat(7_000) } };
  const events = Array.from({ length: 40 }, (_, at) => ({ ...event, id: `evt_large_${at}` }));
  expect((await webhook.storage({ op: 'audit.append', events })).json).toEqual({ accepted: 40 });
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const { json, text } = await webhook.storage({ op: 'audit.list', limit: 100, cursor });
    // PROTOCOL.md TRN-38.
    expect(text.length).toBeLessThan(128 * 1024);
    ids.push(...(json.items as AuditItem[]).map(({ id }) => id));
    cursor = json.nextCursor;
  } while (cursor !== undefined);
  expect(ids.slice(0, 40)).toEqual(events.map(({ id }) => id).toReversed());
  expect(new Set(ids).size).toBe(ids.length);
});

describe('/v1/health', () => {
  // spec: GET or POST /v1/health | service | GET is unauthenticated. POST is HMAC-signed.
  // spec: Service-to-webhook paths are prefixed /v1.
  it('reports the capabilities to the control plane; besides it only the probes exist', async () => {
    expect((await webhook.signed('/v1/health', {})).json).toEqual({
      status: 'ok',
      protocol: 'v1',
      version: expect.any(String),
      webhookId: webhook.webhookId,
      capabilities: [...CAPABILITIES],
      time: new Date(webhook.clock.now()).toISOString(),
      serviceUrl: SERVICE_URL,
    });
    for (const path of ['/v1/health', '/healthz', '/readyz'])
      expect((await webhook.send(path)).json).toEqual({ status: 'ok' });
    for (const path of ['/', '/v1', '/V1/health', '/v1/health/', '/metrics'])
      expect(await webhook.send(path)).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } });
  });
});
