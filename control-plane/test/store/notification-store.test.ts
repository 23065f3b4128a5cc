import { type Id, ManualClock, formatTime, newId, newTimeOrderedId } from '@svault/shared';
import { beforeEach, expect, it } from 'vitest';
import type { StoredChannel } from '../../src/core/notification.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';
import { storeAccess } from './stored-access.ts';

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
const HOUR_MS = 3_600_000;
const NONE = { vaultIds: [], channelIds: [] };
let database: Database;
let vaultId: Id<'vlt'>;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  clock.advance(24 * HOUR_MS);
  ({ vaultId } = await storeAccess(database, clock));
});

const store = () => database.stores.notifications;
const at = (laterMs = 0): string => formatTime(clock.now() + laterMs);

async function channelOf(vault = vaultId, userId?: Id<'usr'>): Promise<StoredChannel> {
  const channel: StoredChannel = {
    id: newTimeOrderedId('nch', clock.now()),
    ...{ vaultId: vault, userId, type: userId === undefined ? 'slack' : 'push', name: 'n', target: 't' },
    ...{ createdAt: at(), lastDeliveredAt: undefined, lastFailedAt: undefined, lastError: undefined },
    addressWrapped: 'w',
  };
  await store().add(channel);
  clock.advance(1);
  return channel;
}
const enqueue = async (vault = vaultId): Promise<Id<'apr'>> => {
  const id = newId('apr');
  await store().enqueue({ id, vaultId: vault, askedAt: at() });
  return id;
};
const due = async (but: Parameters<ReturnType<typeof store>['due']>[1] = NONE, limit = 1_000) =>
  (await store().due(at(), but, limit)).filter((each) => each.vaultId === vaultId);

it('keeps channels, and lists them without their addresses', async () => {
  const userId = newId('usr');
  const [channel, browser] = [await channelOf(), await channelOf(vaultId, userId)];
  expect(await store().get(vaultId, channel.id)).toEqual(channel);
  const shown = ({ addressWrapped: _secret, ...rest }: StoredChannel) => rest;
  const page = { limit: 10, after: undefined };
  expect((await store().list(vaultId, undefined, page)).items).toEqual([channel, browser].map(shown));
  expect((await store().list(vaultId, userId, page)).items).toEqual([shown(browser)]);
  expect(await store().browsersOf(vaultId, userId)).toEqual([browser]);
  const counts = [await store().count(vaultId, 'others', 9), await store().count(vaultId, 'browsers', 9)];
  expect(counts).toEqual([1, 1]);
  await store().noteDelivered(channel, at());
  await store().noteFailed(channel, at(), 'e');
  const noted = { lastDeliveredAt: at(), lastFailedAt: at(), lastError: 'e' };
  expect(await store().get(vaultId, channel.id)).toEqual({ ...channel, ...noted });
});

it('owes a message to each channel of the account, at most a hundred each', async () => {
  const [first, second] = [await channelOf(), await channelOf()];
  const { vaultId: other } = await storeAccess(database, clock);
  await channelOf(other);
  const approvalId = await enqueue();
  expect(await due()).toEqual(
    [first, second].map(({ id: channelId }) => ({
      ...{ vaultId, channelId, approvalId, tries: 0, isSummary: 0 },
      dueAt: at(),
    })),
  );
  for (let more = 0; more < 100; more += 1) await enqueue();
  expect(await due()).toHaveLength(200);
  for (const { channelId } of await due({ vaultIds: [other], channelIds: [first.id] }))
    expect(channelId).toBe(second.id);
  expect(await due({ ...NONE, vaultIds: [vaultId] })).toEqual([]);
});

it('gives a try to one of those that claim it', async () => {
  await channelOf();
  await enqueue();
  const [message] = await due();
  const claims = [store().claim(message!, at(10_000)), store().claim(message!, at(10_000))];
  expect((await Promise.all(claims)).filter((isOurs) => isOurs)).toHaveLength(1);
  expect(await due()).toEqual([]);
  clock.advance(10_000);
  await store().makeSummary(message!);
  expect(await due()).toMatchObject([{ tries: 1, isSummary: 1 }]);
  await store().settle(message!);
  expect(await due()).toEqual([]);
});

it('counts messages by hours that begin with the first', async () => {
  const channel = await channelOf();
  const count = () => store().countMessage(channel, { now: at(), hourAgo: at(-HOUR_MS) });
  expect([await count(), await count()]).toEqual([1, 2]);
  clock.advance(HOUR_MS - 1);
  expect(await count()).toBe(3);
  clock.advance(1);
  expect(await count()).toBe(1);
});

it('removes a channel with what is owed to it, and the browsers of a person', async () => {
  const userId = newId('usr');
  const [channel] = [await channelOf(), await channelOf(vaultId, userId), await channelOf(vaultId, userId)];
  await enqueue();
  await store().removeOfUser(vaultId, userId);
  expect(await store().browsersOf(vaultId, userId)).toEqual([]);
  expect((await due()).map(({ channelId }) => channelId)).toEqual([channel.id]);
  await store().remove(channel);
  expect([await store().get(vaultId, channel.id), await due()]).toEqual([undefined, []]);
});

it('reads and changes no channel of another account', async () => {
  const channel = await channelOf();
  const { vaultId: other } = await storeAccess(database, clock);
  const foreign = { ...channel, vaultId: other };
  await store().remove(foreign);
  await store().noteFailed(foreign, at(), 'e');
  expect(await store().countMessage(foreign, { now: at(), hourAgo: at() })).toBe(0);
  expect(await store().get(other, channel.id)).toBeUndefined();
  expect(await store().get(vaultId, channel.id)).toEqual(channel);
});
