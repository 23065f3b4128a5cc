import { type Id, newId } from '@svault/shared';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import {
  type ProxyConfigDelivery,
  createProxyConfigDelivery,
  createProxyConfigRemoval,
} from '../../src/forwarding/proxy-config-sync.ts';
import { type Proxy, templatesOf } from '../../src/core/proxy.ts';
import { WebhookCallFailed } from '../../src/webhook/call-failed.ts';
import type { Answer } from '../support/management-service.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type ProcessBeside, processBeside } from '../support/process-beside.ts';
import { uniqueName } from '../support/unique-name.ts';
import type { ProxyConfig } from '../../src/access/decision.ts';

// The webhook's copy of proxy settings, delivered by the control plane and by a second process on its database.

const UPSTREAM = 'https://mcp.example.com/mcp';

// Background jobs would detect outages and remove settings before the test does.
const jobs = jobsByHand();
let service: PairedService;
let beside: ProcessBeside;
let delivery: ProxyConfigDelivery;
beforeAll(async () => {
  service = await startPairedService({ startJob: jobs.startJob });
  beside = await processBeside(service.pair);
  const { stores, unitOfWork } = beside.database;
  const { webhook } = beside;
  delivery = createProxyConfigDelivery({ stores, unitOfWork, webhook, clock: service.clock });
});
afterAll(async () => {
  await beside.close();
  await service.stop();
});
beforeEach(() => {
  beside.sent.length = 0;
  beside.hold = undefined;
});

const create = async (more: object = {}): Promise<Answer['json']> => {
  const body = {
    name: uniqueName('p'),
    upstreamUrl: UPSTREAM,
    serviceName: 'github',
    allowMissing: true,
    ...more,
  };
  return (await service.admin('POST', '/api/proxies', { body })).json.proxy;
};
const change = (id: string, body: object): Promise<Answer> =>
  service.admin('PATCH', `/api/proxies/${id}`, { body });
const isDelivered = async (id: string): Promise<boolean> =>
  (await service.admin('GET', `/api/proxies/${id}`)).json.webhook.delivered;
/** The settings at the webhook. */
const atWebhook = (id: string): Promise<Record<string, unknown>> =>
  beside.ask({ op: 'proxies.get', proxyId: id });
const isAtWebhook = (id: string): Promise<boolean> =>
  atWebhook(id).then(
    () => true,
    (error: unknown) => {
      expect(error).toMatchObject({ code: 'NOT_FOUND' });
      return false;
    },
  );
const stored = async (id: string): Promise<Proxy> => {
  const proxy = await beside.database.stores.proxies.get(beside.vaultId, id);
  if (proxy === undefined) throw new Error('there is no such proxy');
  return proxy;
};
/** As a request finds it. */
const deliverable = async (id: string): Promise<ProxyConfig> => {
  const proxy = await stored(id);
  const { serviceName = '', upstreamUrl, revision, deliveredAs = null } = proxy;
  const headerTemplates = templatesOf(proxy);
  return { proxyId: proxy.id, serviceName, upstreamUrl, headerTemplates, revision, deliveredAs };
};
const ensure = async (id: string, from = delivery): Promise<void> =>
  from.ensure(await beside.link(), await deliverable(id));
const forget = (id: string): Promise<void> => delivery.forgetDelivery(beside.vaultId, id as Id<'prx'>);
const removal = () =>
  createProxyConfigRemoval({
    stores: beside.database.stores,
    webhook: beside.webhook,
    status: { offlineForSeconds: () => 0 },
    clock: service.clock,
  });
/** After a call that failed there is a pause by the clock. @param work in place of the service's own job */
const soon = (holds: () => Promise<void>, work = removal().run): Promise<void> =>
  vi.waitFor(
    async () => {
      service.clock.advance(2_000);
      await work();
      await holds();
    },
    { timeout: 20_000 },
  );
const puts = () => beside.sent.filter(({ op }) => op === 'proxies.put');

/** Lets a call wait until it is told to go. */
function gate(): { readonly reached: Promise<void>; arrive(): Promise<void>; open(): void } {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const arrive = (): Promise<void> => {
    reached.resolve();
    return opened.promise;
  };
  return { reached: reached.promise, arrive, open: opened.resolve };
}

test('a new proxy is delivered to the webhook before the response', async () => {
  const proxy = await create({ headerTemplates: { 'X-Api-Key': '$<TOKEN>' } });
  expect(proxy.webhook).toEqual({ delivered: true });
  expect(await atWebhook(proxy.id)).toEqual({
    proxyId: proxy.id,
    serviceName: 'github',
    upstreamUrl: UPSTREAM,
    headerTemplates: { 'X-Api-Key': '$<TOKEN>' },
    version: 1,
  });
});

test('settings are delivered again when they change, and only then', async () => {
  const { id } = await create();
  expect((await change(id, { name: 'other' })).json.webhook).toEqual({ delivered: true });
  expect(await atWebhook(id)).toMatchObject({ version: 1 });
  const changes = {
    upstreamUrl: 'https://two.example.com/',
    serviceName: 'npm',
    headerTemplates: { 'x-api-key': '${TOKEN}' },
  };
  for (const [index, [member, value]] of Object.entries(changes).entries()) {
    const changed = await change(id, { [member]: value, allowMissing: true });
    expect(changed.json.webhook).toEqual({ delivered: true });
    expect(await atWebhook(id)).toMatchObject({ [member]: value, version: index + 2 });
  }
});

test('an sv_session proxy is not delivered to the webhook', async () => {
  const agentId = (await service.agent()).id;
  const proxy = await create({ serviceName: undefined, upstreamAuthType: 'sv_session', agentId });
  expect(proxy).not.toHaveProperty('webhook');
  expect(await isAtWebhook(proxy.id)).toBe(false);
});

test('a proxy can be created and changed while the webhook is offline; the next request delivers its settings', async () => {
  const { id: former } = await create();
  await service.pair.stop('webhook');
  const proxy = await create();
  expect(proxy.webhook).toEqual({ delivered: false });
  expect((await change(former, { serviceName: 'npm', allowMissing: true })).json.webhook).toEqual({
    delivered: false,
  });
  await expect(ensure(proxy.id)).rejects.toThrow(WebhookCallFailed);
  await service.pair.start('webhook');
  for (const id of [former, proxy.id]) {
    expect(await isDelivered(id)).toBe(false);
    await ensure(id);
    expect(await isDelivered(id)).toBe(true);
  }
  expect(await atWebhook(former)).toMatchObject({ serviceName: 'npm' });
  // The webhook counts as offline until it answers.
  await service.admin('GET', '/api/webhook');
});

test('concurrent requests of one proxy deliver its settings once, and later ones do not', async () => {
  const { id } = await create();
  await ensure(id);
  expect(beside.sent).toEqual([]);
  await forget(id);
  expect(await isDelivered(id)).toBe(false);
  const [link, proxy] = [await beside.link(), await deliverable(id)];
  await Promise.all(Array.from({ length: 200 }, () => delivery.ensure(link, proxy)));
  expect(beside.sent.map(({ op }) => op)).toEqual(['proxies.get', 'proxies.put']);
  expect([await isDelivered(id), await atWebhook(id)]).toEqual([
    true,
    expect.objectContaining({ version: 1 }),
  ]);
});

test('a webhook that lost the settings, or a newly bound one, gets them', async () => {
  const { id } = await create();
  await beside.ask({ op: 'proxies.delete', proxyId: id });
  await forget(id);
  await ensure(id);
  expect(await isAtWebhook(id)).toBe(true);

  const other = { ...(await beside.link()), webhookId: newId('whk') };
  await delivery.ensure(other, await deliverable(id));
  expect(puts()).toHaveLength(2);
  // The settings are at the other webhook; the bound one gets them again.
  expect(await isDelivered(id)).toBe(false);
  await delivery.ensure(other, await deliverable(id));
  expect(puts()).toHaveLength(2);
});

test('a slow delivery does not restore an earlier upstream', async () => {
  const { id } = await create();
  await forget(id);
  const slow = gate();
  beside.hold = ({ op }) => (op === 'proxies.put' ? slow.arrive() : undefined);
  const late = ensure(id);
  await slow.reached;
  // The control plane is the other, faster process.
  await change(id, { upstreamUrl: 'https://new.example.com/' });
  expect(await atWebhook(id)).toMatchObject({ upstreamUrl: 'https://new.example.com/' });
  beside.hold = undefined;
  slow.open();
  await late;
  expect(puts().map(({ upstreamUrl }) => upstreamUrl)).toEqual([UPSTREAM, 'https://new.example.com/']);
  expect(await atWebhook(id)).toMatchObject({ upstreamUrl: 'https://new.example.com/' });
  expect(await isDelivered(id)).toBe(true);
});

test('a change during a delivery is delivered after it', async () => {
  const { id } = await create();
  await forget(id);
  const slow = gate();
  beside.hold = ({ op }) => (op === 'proxies.get' ? slow.arrive() : undefined);
  const before = ensure(id);
  await slow.reached;
  await beside.database.stores.proxies.update({
    ...(await stored(id)),
    upstreamUrl: 'https://later.example.com/',
    revision: 2,
  });
  const after = ensure(id);
  slow.open();
  await Promise.all([before, after]);
  expect(await atWebhook(id)).toMatchObject({ upstreamUrl: 'https://later.example.com/' });
  expect(await isDelivered(id)).toBe(true);
});

test.each(['revoked', 'deleted'])('the settings of a %s proxy are deleted at the webhook', async (how) => {
  const { id } = await create();
  await (how === 'deleted'
    ? service.admin('DELETE', `/api/proxies/${id}`)
    : service.admin('POST', `/api/proxies/${id}/revoke`));
  const job = how === 'deleted' ? () => jobs.run('proxy removals') : undefined;
  await soon(async () => expect(await isAtWebhook(id)).toBe(false), job);
});

test('a removal is retried until the webhook answers', async () => {
  const proxies = [await create(), await create()];
  const owed = () => service.state.rows('SELECT proxy_id FROM proxy_removals').then((rows) => rows.length);
  await soon(async () => expect(await owed()).toBe(0));
  await service.pair.stop('webhook');
  for (const { id } of proxies) await service.admin('DELETE', `/api/proxies/${id}`);
  const { run } = removal();
  for (let n = 0; n < 3; n++) {
    await run();
    await run();
    service.clock.advance(60 * 60_000);
  }
  expect(beside.sent.length).toBeLessThanOrEqual(3);
  expect(await owed()).toBe(2);
  await service.pair.start('webhook');
  service.clock.advance(60 * 60_000);
  await soon(async () => expect(await owed()).toBe(0));
  for (const { id } of proxies) expect(await isAtWebhook(id)).toBe(false);
});

test('a removal at another webhook waits until that one is bound', async () => {
  const { stores } = beside.database;
  const [webhookId, proxyId] = [newId('whk'), newId('prx')];
  const now = new Date(service.clock.now()).toISOString();
  await stores.proxyRemovals.owe({ vaultId: beside.vaultId, webhookId, proxyId }, now);
  await removal().run();
  expect(beside.sent).toEqual([]);
  const [kept] = await stores.proxyRemovals.due('9999', 10);
  expect(kept).toMatchObject({ webhookId, proxyId });
  expect(await stores.proxyRemovals.due(now, 10)).toEqual([]);
  await stores.proxyRemovals.settle({ vaultId: beside.vaultId, webhookId, proxyId });
});

test('the settings of a proxy that is revoked during the delivery are deleted', async () => {
  const { id } = await create();
  await forget(id);
  await beside.ask({ op: 'proxies.delete', proxyId: id });
  const slow = gate();
  beside.hold = ({ op }) => (op === 'proxies.put' ? slow.arrive() : undefined);
  const late = ensure(id);
  await slow.reached;
  await service.admin('POST', `/api/proxies/${id}/revoke`);
  const owed = () => service.state.value('SELECT count(*) FROM proxy_removals WHERE proxy_id = ?', id);
  await soon(async () => expect(await owed()).toBe(0));
  slow.open();
  await late;
  beside.hold = undefined;
  await soon(async () => expect(await isAtWebhook(id)).toBe(false));
});

test('the settings of a proxy that is revoked before the delivery are not delivered', async () => {
  const { id } = await create();
  await forget(id);
  const slow = gate();
  beside.hold = ({ op }) => (op === 'proxies.get' ? slow.arrive() : undefined);
  const late = ensure(id);
  await slow.reached;
  await service.admin('POST', `/api/proxies/${id}/revoke`);
  slow.open();
  await late;
  expect(puts()).toEqual([]);
});

test('a server that stores no proxies is not taken for a webhook', async () => {
  const { id } = await create();
  await forget(id);
  const { stores, unitOfWork } = beside.database;
  const webhook = { call: () => Promise.resolve({ body: { results: [] }, latencyMs: 1 }) };
  const wrong = createProxyConfigDelivery({ stores, unitOfWork, webhook, clock: service.clock });
  await expect(ensure(id, wrong)).rejects.toMatchObject({ failure: 'garbage' });
  expect(await isDelivered(id)).toBe(false);
});
