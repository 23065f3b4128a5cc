import { type Id, ManualClock } from '@svault/shared';
import { beforeEach, expect, it } from 'vitest';
import type { Proxy } from '../../src/core/proxy.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';
import { storeAccess } from './stored-access.ts';
import { storeProxy } from './stored-proxy.ts';

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
const NOW = '2026-11-20T12:00:00.000Z';
const LATER = '2026-11-20T13:00:00.000Z';
let database: Database;
let vaultId: Id<'vlt'>;
let proxy: Proxy;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  ({ vaultId } = await storeAccess(database, clock));
  ({ proxy } = await storeProxy(database, vaultId, { revision: 1 }));
});

const stored = () => database.stores.proxies.get(vaultId, proxy.id);

it('records a delivery only for the current revision of an active proxy', async () => {
  const { proxies } = database.stores;
  expect(await stored()).toEqual(proxy);
  expect(await proxies.noteDelivered(proxy, 'w 1')).toBe(true);
  expect(await stored()).toMatchObject({ deliveredAs: 'w 1' });
  await proxies.update({ ...proxy, name: 'other', headerTemplates: undefined, revision: 2 });
  expect(await proxies.noteDelivered(proxy, 'w 1')).toBe(false);
  expect(await proxies.noteDelivered({ ...proxy, revision: 2 }, 'w 2')).toBe(true);
  expect(await stored()).toMatchObject({ name: 'other', headerTemplates: undefined, deliveredAs: 'w 2' });
  await proxies.forgetDelivery(vaultId, proxy.id);
  expect((await stored())?.deliveredAs).toBeUndefined();
  await proxies.markRevoked(vaultId, proxy.id, LATER);
  expect(await proxies.noteDelivered({ ...proxy, revision: 2 }, 'w 2')).toBe(false);
  expect(await stored()).toMatchObject({ status: 'revoked', revokedAt: LATER, deliveredAs: undefined });
  expect(await proxies.wrappedKey(vaultId, proxy.id)).toBeUndefined();
  await proxies.remove(vaultId, proxy.id);
  expect(await stored()).toBeUndefined();
});

it('stores the members that only an HTTP API has, and removes them', async () => {
  const { proxies } = database.stores;
  const members = {
    kind: 'http',
    queryTemplates: { key: '${TOKEN}' },
    redirects: 'follow-without-credential',
  } as const;
  const { proxy: api } = await storeProxy(database, vaultId, members);
  expect(await proxies.get(vaultId, api.id)).toEqual(api);
  await proxies.update({ ...api, queryTemplates: undefined, redirects: undefined });
  expect(await proxies.get(vaultId, api.id)).toMatchObject({
    ...{ kind: 'http', queryTemplates: undefined, redirects: undefined },
  });
});

it('reads and changes no proxy of another account', async () => {
  const { proxies } = database.stores;
  const { vaultId: other } = await storeAccess(database, clock);
  await proxies.noteDelivered(proxy, 'w 1');
  const before = await stored();
  expect(await proxies.noteDelivered({ ...proxy, vaultId: other }, 'x 1')).toBe(false);
  await proxies.update({ ...proxy, vaultId: other, name: 'taken' });
  await proxies.forgetDelivery(other, proxy.id);
  await proxies.forgetDeliveries(other);
  await proxies.markRevoked(other, proxy.id, NOW);
  await proxies.remove(other, proxy.id);
  expect([await proxies.get(other, proxy.id), await proxies.wrappedKey(other, proxy.id)]).toEqual([
    undefined,
    undefined,
  ]);
  expect(await stored()).toEqual(before);
});

it('lists a removal once it is due, until it is settled', async () => {
  const { proxyRemovals } = database.stores;
  const removal = { vaultId, webhookId: 'w', proxyId: proxy.id };
  const due = async (now: string) =>
    (await proxyRemovals.due(now, 100)).filter((owed) => owed.vaultId === vaultId);
  await proxyRemovals.owe(removal, NOW);
  await proxyRemovals.owe(removal, NOW);
  await proxyRemovals.owe({ ...removal, webhookId: 'another' }, LATER);
  expect(await due(NOW)).toEqual([{ ...removal, tries: 0 }]);
  await proxyRemovals.postpone(removal, { dueAt: LATER, tries: 1 });
  expect(await due(NOW)).toEqual([]);
  expect(await due(LATER)).toHaveLength(2);
  await proxyRemovals.owe(removal, NOW);
  expect(await due(NOW)).toEqual([{ ...removal, tries: 0 }]);
  await proxyRemovals.settle(removal);
  expect(await due(LATER)).toEqual([{ ...removal, webhookId: 'another', tries: 0 }]);
});
