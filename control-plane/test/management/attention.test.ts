import { afterEach, beforeEach, expect, test } from 'vitest';
import { openBeside } from '../support/beside-the-service.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { addMember } from '../support/members.ts';
import { refreshableRecord } from '../support/refreshable-record.ts';

const HOUR = 3_600_000;
const START = '2026-11-20T12:00:00.000Z';

let service: LinkedService;
beforeEach(async () => {
  service = await startLinkedService();
});
afterEach(() => service.stop());

interface Item {
  readonly id: string;
  readonly kind: string;
  readonly since: string;
  readonly endsAt: string | null;
  readonly seen: boolean;
}

const attention = async (call = service.admin) =>
  (await call('GET', '/api/attention')).json as { items: Item[]; unseen: number };
const ids = async (call = service.admin) => (await attention(call)).items.map(({ id }) => id);
const unseen = async (call = service.admin) =>
  (await attention(call)).items.filter(({ seen }) => !seen).map(({ id }) => id);
const markSeen = (seen: readonly string[], call = service.admin) =>
  call('POST', '/api/attention/seen', { body: { ids: seen } });
const post = (path: string, body: object = {}) => service.admin('POST', path, { body });

test('nothing needs attention in a new account', async () => {
  expect(await attention()).toEqual({ items: [], unseen: 0 });
  await service.bind();
  expect(await attention()).toEqual({ items: [], unseen: 0 });
});

test('a grant needs attention in its last day, and again after it was renewed', async () => {
  const agent = await service.agent();
  const grants = `/api/agents/${agent.id}/grants`;
  for (const [serviceName, expiresInSeconds] of [
    ['later', 49 * 3_600],
    ['soon', 24 * 3_600],
  ] as const)
    await post(grants, { allowMissing: true, serviceName, expiresInSeconds });
  const id = `grant_expires:${agent.id}:soon`;
  expect(await attention()).toEqual({
    unseen: 1,
    items: [
      {
        ...{ id, kind: 'grant_expires', severity: 'warning', seen: false, eventSeq: null },
        ...{ since: START, endsAt: '2026-11-21T12:00:00.000Z', serviceName: 'soon' },
        subject: { type: 'agent', id: agent.id, name: expect.stringContaining('builder') as string },
      },
    ],
  });
  expect((await markSeen([id])).json).toMatchObject({ unseen: 0, items: [{ id, seen: true }] });
  expect(await attention()).toMatchObject({ unseen: 0, items: [{ id, seen: true }] });
  await post(`${grants}/soon/renew`, { expiresInSeconds: 48 * 3_600 });
  expect(await ids()).toEqual([]);
  service.clock.advance(25 * HOUR);
  expect((await unseen()).toSorted()).toEqual([`grant_expires:${agent.id}:later`, id]);
});

test('a lockout needs attention, and each further one of the same agent anew', async () => {
  const agent = await service.agent();
  const lockOut = async () => {
    for (let times = 0; times < 62; times++) await agent.list();
  };
  await lockOut();
  const [first = ''] = await unseen();
  expect(first).toBe(`lockout:${agent.id}:1`);
  await markSeen([first]);
  expect(await unseen()).toEqual([]);
  service.clock.advance(61_000);
  expect(await ids()).toEqual([]);
  await lockOut();
  expect(await unseen()).toEqual([`lockout:${agent.id}:2`]);
  await markSeen([`lockout:${agent.id}:2`]);
  // Both strikes have decayed.
  service.clock.advance(3 * HOUR);
  await lockOut();
  expect(await unseen()).toEqual([first]);
});

test('a locked vault, a webhook that is away and its waiting log need attention, the most serious first', async () => {
  await service.bind();
  await service.runJob('audit shipping');
  await expect.poll(() => service.webhook.events.length).toBeGreaterThan(2);
  await service.webhook.shut();
  await service.agent();
  await service.admin('GET', '/api/webhook');
  service.clock.advance(60_001);
  await post('/api/vault/lock');
  const all = ['webhook_offline', 'vault_locked', 'log_not_delivered'];
  expect(await unseen()).toEqual(all);
  expect((await markSeen([...all, 'unknown'])).status).toBe(200);
  expect(await unseen()).toEqual([]);
  await post('/api/vault/unlock');
  service.clock.advance(1);
  await post('/api/vault/lock');
  expect(await unseen()).toEqual(['vault_locked']);
  await service.webhook.open();
});

test('a failed refresh needs attention until the credential is refreshed or stored again', async () => {
  await service.bind();
  await post('/api/tokens', { serviceName: 'github', tokenType: 'JWT' });
  service.webhook.tokens.set('github', refreshableRecord('github'));
  const refresh = () => post('/api/tokens/github/refresh');
  /** Without the log, which nothing ships here. */
  const failed = async () =>
    (await attention()).items.filter(({ kind, seen }) => kind === 'refresh_failed' && !seen);
  service.webhook.refresh = () => ({ status: 200, answer: { outcome: 'failed' } });
  expect((await refresh()).json).toMatchObject({ outcome: 'failed' });
  const since = new Date(service.clock.now()).toISOString();
  service.clock.advance(HOUR);
  await refresh();
  expect(await failed()).toMatchObject([
    {
      ...{ id: 'refresh_failed:github', severity: 'critical', since },
      subject: { type: 'credential', id: 'github', name: 'github' },
    },
  ]);
  await markSeen(['refresh_failed:github']);
  service.clock.advance(HOUR);
  await refresh();
  expect(await failed()).toEqual([]);
  service.webhook.refresh = () => ({ status: 200, answer: { outcome: 'refreshed' } });
  await refresh();
  expect(await failed()).toEqual([]);
  service.clock.advance(HOUR);
  service.webhook.refresh = () => ({ status: 200, answer: { outcome: 'failed' } });
  await refresh();
  expect(await failed()).toMatchObject([{ id: 'refresh_failed:github' }]);
  expect((await post('/api/tokens/github/store-ticket')).status).toBe(200);
  expect(await failed()).toEqual([]);
});

test("a contradiction of the webhook's log and a rejected credential need attention", async () => {
  await service.bind();
  await post('/api/tokens', { serviceName: 'github', tokenType: 'JWT' });
  await service.runJob('audit shipping');
  await expect.poll(() => service.webhook.events.length).toBeGreaterThan(1);
  service.webhook.head = { epoch: 'restored' };
  await service.agent();
  await service.runJob('audit shipping');
  await expect.poll(() => ids()).toEqual(['log_contradiction']);
  const [reported] = await service.log('&eventType=WEBHOOK_LOG_CONTRADICTION');
  expect((await attention()).items).toMatchObject([
    { eventSeq: reported?.seq, subject: { type: 'webhook', id: service.webhook.webhookId } },
  ]);
  const beside = await openBeside(service);
  const { vaultId } = (await service.admin('GET', '/api/me')).json;
  await beside.stores.tokens.markRejected(vaultId, 'github', START);
  await beside.close();
  expect(await ids()).toEqual(['log_contradiction', 'credential_rejected:github']);
  service.clock.advance(7 * 24 * HOUR + 1);
  expect(await ids()).toEqual(['credential_rejected:github', 'log_not_delivered']);
});

test('a credential needs attention in its last day and after it, unless it is refreshed by itself', async () => {
  await service.bind();
  for (const serviceName of ['static', 'later', 'fresh'])
    await post('/api/tokens', { serviceName, tokenType: 'JWT' });
  const record = (serviceName: string, hours: number) => {
    const expiryTime = new Date(service.clock.now() + hours * HOUR).toISOString();
    return refreshableRecord(serviceName, { hasRefreshToken: false, provider: undefined, expiryTime });
  };
  service.webhook.tokens.set('static', record('static', 2));
  service.webhook.tokens.set('later', record('later', 30));
  service.webhook.tokens.set('fresh', refreshableRecord('fresh'));
  service.webhook.tokens.set('unknown', record('unknown', 1));
  const expiring = async () => (await ids()).filter((id) => id.startsWith('credential_expires'));
  const calls = () => service.webhook.served.filter(({ op }) => op === 'tokens.list').length;
  expect((await attention()).items).toMatchObject([
    { id: 'credential_expires:static', severity: 'warning', endsAt: '2026-11-20T14:00:00.000Z' },
  ]);
  for (let times = 0; times < 5; times++) await attention();
  expect(calls()).toBe(1);
  service.clock.advance(7 * HOUR);
  expect(await expiring()).toEqual(['credential_expires:static', 'credential_expires:later']);
  expect(calls()).toBe(2);
  service.webhook.fault = () => ({ status: 500, body: '{}' });
  service.clock.advance(61_000);
  expect(await expiring()).toEqual(['credential_expires:static', 'credential_expires:later']);
});

test('each member has seen what they marked, and nothing of what others marked', async () => {
  const { session, id } = await addMember(service, 'member');
  await post('/api/vault/lock');
  expect(await unseen(session)).toEqual(['vault_locked']);
  expect((await markSeen(['vault_locked'], session)).json).toMatchObject({ unseen: 0 });
  expect(await unseen(session)).toEqual([]);
  expect(await unseen()).toEqual(['vault_locked']);
  const marks = async () => {
    const beside = await openBeside(service);
    const seen = await beside.stores.attention.seen(id as never);
    await beside.close();
    return [...seen.keys()];
  };
  expect(await marks()).toEqual(['vault_locked']);
  await post('/api/vault/unlock');
  expect((await service.admin('DELETE', `/api/members/${id}`)).status).toBe(204);
  expect(await marks()).toEqual([]);
});

test('POST /api/attention/seen keeps nothing of ids that need no attention, and refuses what is none', async () => {
  expect((await markSeen(['vault_locked', 'x'.repeat(300)])).json).toEqual({ items: [], unseen: 0 });
  await post('/api/vault/lock');
  expect(await unseen()).toEqual(['vault_locked']);
  for (const body of [
    {},
    { ids: 'vault_locked' },
    { ids: [''] },
    { ids: ['x'.repeat(301)] },
    { ids: ['a', 'a'] },
    { ids: Array.from({ length: 51 }, (_, index) => `${index}`) },
  ]) {
    const { status } = await post('/api/attention/seen', body);
    expect([JSON.stringify(body).slice(0, 40), status]).toEqual([JSON.stringify(body).slice(0, 40), 422]);
  }
});
