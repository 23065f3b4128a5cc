import { type Id, ManualClock, formatTime, newId } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/core/audit-event.ts';
import type { Database } from '../../src/store/database.ts';
import { type AuditDestination, createAuditDelivery } from '../../src/webhook/audit-delivery.ts';
import type { LogHead } from '../../src/core/webhook-link.ts';
import { useStore } from './open-store.ts';
import { linkOf } from './stored-access.ts';
import { storeProxy } from './stored-proxy.ts';

type Shipment = Parameters<AuditDestination['deliver']>[0];

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
const WEBHOOK = 'whk_1';
let database: Database;
let vaultId: Id<'vlt'>;
/** The webhook's log head; a test may delay it. */
let head: () => LogHead | Promise<LogHead>;
let destination: AuditDestination;

useStore((opened) => (database = opened), clock);

beforeEach(async () => {
  vaultId = newId('vlt');
  head = () => ({ epoch: 'first', seq: 10, hash: 'h10' });
  const { stores, unitOfWork } = database;
  destination = createAuditDelivery({
    links: stores.webhookLinks,
    unitOfWork,
    clock,
    webhook: {
      call: async (_link, { body }) => {
        const { batch } = body as { batch: readonly [{ events: readonly object[] }, object] };
        const results = [{ accepted: batch[0].events.length }, { items: [], head: await head() }];
        return { body: { results }, latencyMs: 1 };
      },
    },
  });
  await unitOfWork.run(vaultId, async ({ vaults, webhookLinks }) => {
    await vaults.add({ id: vaultId, createdAt: formatTime(clock.now()) });
    await webhookLinks.insert(linkOf(vaultId, WEBHOOK));
  });
});

const write = (): Promise<void> =>
  database.unitOfWork.run(vaultId, ({ audit }) =>
    audit.append({ vaultId, eventType: 'LOGIN', outcome: 'success' }),
  );
const shippedSeq = async (): Promise<number> => (await database.stores.audit.chainOf(vaultId)).shippedSeq;
const waiting = async (): Promise<Shipment> => {
  const from = await shippedSeq();
  return { vaultId, shippedSeq: from, events: await database.stores.audit.after(vaultId, from, 100) };
};
const deliver = (shipment: Shipment): Promise<boolean> =>
  destination.deliver(shipment, new AbortController().signal);
const reports = async (): Promise<AuditEvent[]> =>
  (await database.stores.audit.after(vaultId, 0, 1_000)).filter(
    ({ eventType }) => eventType === 'WEBHOOK_LOG_CONTRADICTION',
  );
const knownHead = () => database.stores.webhookLinks.logHead(vaultId, WEBHOOK);

describe('two processes that ship the same log', () => {
  it('move the cursor once, and report no contradiction for the older head that the slower one has', async () => {
    await write();
    const shipment = await waiting();
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<LogHead>();
    head = () => (asked.resolve(), answered.promise);
    const slow = deliver(shipment);
    await asked.promise;
    head = () => ({ epoch: 'first', seq: 12, hash: 'h12' });
    await deliver(shipment);
    answered.resolve({ epoch: 'first', seq: 11, hash: 'h11' });
    expect(await slow).toBe(true);
    expect([await shippedSeq(), await knownHead(), await reports()]).toEqual([
      1,
      { epoch: 'first', seq: 12, hash: 'h12' },
      [],
    ]);
  });

  it('never move the cursor beyond events that neither has sent', async () => {
    await write();
    const short = await waiting();
    await write();
    const long = await waiting();
    await deliver(short);
    await deliver(long);
    expect(await shippedSeq()).toBe(1);
    await deliver(await waiting());
    expect(await shippedSeq()).toBe(2);
  });
});

describe('a webhook that reports another log at each call', () => {
  it('is reported once for each shipment of other events, and not for a shipment of reports', async () => {
    let epoch = 0;
    head = () => ({ epoch: `epoch ${++epoch}`, seq: 1, hash: 'h' });
    for (let shipments = 0; shipments < 3; shipments++) {
      await write();
      for (let rounds = 0; rounds < 5; rounds++) {
        const shipment = await waiting();
        if (shipment.events.length > 0) await deliver(shipment);
      }
    }
    expect((await waiting()).events).toEqual([]);
    expect(await reports()).toHaveLength(2);
  });

  it('is reported also where the contradiction appears while a report is shipped', async () => {
    await write();
    await deliver(await waiting());
    await write();
    head = () => ({ epoch: 'second', seq: 1, hash: 'h' });
    await deliver(await waiting());
    head = () => ({ epoch: 'third', seq: 1, hash: 'h' });
    await deliver(await waiting());
    expect(await reports()).toHaveLength(1);
    await write();
    await deliver(await waiting());
    expect(await reports()).toMatchObject([
      {
        outcome: 'error',
        detail: {
          contradiction: 'EPOCH_CHANGED',
          webhookId: WEBHOOK,
          knownEpoch: 'first',
          seenEpoch: 'second',
        },
      },
      { detail: { knownEpoch: 'second', seenEpoch: 'third' } },
    ]);
  });
});

it('a webhook with another log, restored from a backup, gets its proxies again', async () => {
  const { proxies } = database.stores;
  const { proxy } = await storeProxy(database, vaultId, { deliveredAs: 'whk_1 1' });
  const deliveredAs = async () => (await proxies.get(vaultId, proxy.id))?.deliveredAs;
  await write();
  await deliver(await waiting());
  expect(await deliveredAs()).toBe('whk_1 1');
  head = () => ({ epoch: 'second', seq: 11, hash: 'h11' });
  await write();
  await deliver(await waiting());
  expect(await deliveredAs()).toBeUndefined();
});

it.each(['half a \ud800 pair', 'a \0'])(
  'rejects a log head that the database cannot store: %j',
  async (text) => {
    await write();
    const shipment = await waiting();
    for (const broken of [
      { epoch: text, seq: 1, hash: 'h' },
      { epoch: 'first', seq: 1, hash: text },
    ]) {
      head = () => broken;
      await expect(deliver(shipment)).rejects.toMatchObject({ failure: 'garbage' });
    }
    expect([await shippedSeq(), await knownHead()]).toEqual([0, undefined]);
  },
);

it('records nothing where another webhook was bound meanwhile', async () => {
  await write();
  const shipment = await waiting();
  head = async () => {
    await database.kysely
      .updateTable('webhook_links')
      .set({ webhook_id: 'whk_2' })
      .where('vault_id', '=', vaultId)
      .execute();
    return { epoch: 'first', seq: 1, hash: 'h' };
  };
  await deliver(shipment);
  expect(await database.stores.webhookLinks.find(vaultId)).toMatchObject({
    webhookId: 'whk_2',
    lastSeenAt: undefined,
  });
});
