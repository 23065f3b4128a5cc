import type { ServerResponse } from 'node:http';
import { silentLogger } from '@svault/server-kit/logger';
import { type Id, ManualClock, formatTime, newId, newTimeOrderedId } from '@svault/shared';
import { type Egress, createEgress } from '@svault/shared/egress';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Approval } from '../../src/core/approval.ts';
import { wrapAddress } from '../../src/notifications/channel-address.ts';
import { type NotificationDelivery, createNotificationDelivery } from '../../src/notifications/delivery.ts';
import { createMessageSender } from '../../src/notifications/send-message.ts';
import type { Database } from '../../src/store/database.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/receivers.ts';
import { useStore } from '../store/open-store.ts';
import { storeAccess } from '../store/stored-access.ts';

// Delivery over several accounts and processes.

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
const BASE_URL = 'https://svault.example.org';
let database: Database;
let receiver: HttpReceiver;
let egress: Egress;
const started: NotificationDelivery[] = [];

useStore((opened) => (database = opened), clock);
beforeAll(async () => {
  receiver = await startHttpReceiver();
  egress = createEgress({ allow: ['127.0.0.0/8'] });
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.stop()));
  receiver.received.length = 0;
});
afterAll(async () => {
  await egress.close();
  await receiver.stop();
});

function deliveryOf(): NotificationDelivery {
  const { stores, unitOfWork, masterKeys } = database;
  const messages = createMessageSender({ egress, clock, masterKeys, baseUrl: BASE_URL, smtp: undefined });
  const options = { stores, unitOfWork, messages, clock, logger: silentLogger, baseUrl: BASE_URL };
  const delivery = createNotificationDelivery(options);
  started.push(delivery);
  return delivery;
}

/** An account whose channels get `/path`. */
async function accountWith(channels: number, path: string): Promise<Id<'vlt'>> {
  const { vaultId } = await storeAccess(database, clock);
  for (let made = 0; made < channels; made += 1) {
    const bound = { id: newTimeOrderedId('nch', clock.now()), vaultId, type: 'slack' } as const;
    await database.stores.notifications.add({
      ...{ ...bound, name: 'n', target: 't', userId: undefined, createdAt: formatTime(clock.now()) },
      ...{ lastDeliveredAt: undefined, lastFailedAt: undefined, lastError: undefined },
      addressWrapped: wrapAddress(bound, { url: receiver.origin + path }, database.masterKeys),
    });
  }
  return vaultId;
}

async function askIn(vaultId: Id<'vlt'>): Promise<void> {
  const nowMs = clock.now();
  const approval: Approval = {
    ...{ id: newTimeOrderedId('apr', nowMs), vaultId, requestKey: newId('req') },
    ...{ kind: 'policy', callerType: 'agent', callerId: newId('agt'), serviceName: 'github' },
    ...{ request: undefined, reason: undefined, uses: 1, validSeconds: 60 },
    ...{ askedAt: formatTime(nowMs), expiresAt: formatTime(nowMs + 900_000) },
    ...{ decision: undefined, decidedAt: undefined, decidedBy: undefined },
    ...{ webhookApprovalId: undefined, url: undefined },
  };
  await database.stores.approvals.add(approval);
  await database.stores.notifications.enqueue(approval);
}

const told = (path: string): number => receiver.received.filter((each) => each.path === path).length;

test('an account whose receivers do not answer holds no other account', async () => {
  const stuck: ServerResponse[] = [];
  receiver.answer = (res, path) => void (path === '/stuck' ? stuck.push(res) : res.end());
  const [slow, quick] = [await accountWith(20, '/stuck'), await accountWith(1, '/quick')];
  for (let asked = 0; asked < 5; asked += 1) await askIn(slow);
  const delivery = deliveryOf();
  await delivery.run();
  await vi.waitFor(() => expect(stuck).toHaveLength(4));
  await askIn(quick);
  await delivery.run();
  await vi.waitFor(() => expect(told('/quick')).toBe(1));
  expect(told('/stuck')).toBe(4);
});

test('of two processes one sends', async () => {
  receiver.answer = (res) => void res.end();
  await askIn(await accountWith(3, '/once'));
  const processes = [deliveryOf(), deliveryOf()];
  await Promise.all(processes.map((each) => each.run()));
  await vi.waitFor(() => expect(told('/once')).toBe(3));
  await Promise.all(processes.map((each) => each.stop()));
  expect(told('/once')).toBe(3);
});

test('what a stopped process did not finish is sent after the next start', async () => {
  receiver.answer = () => undefined;
  await askIn(await accountWith(1, '/again'));
  const first = deliveryOf();
  await first.run();
  await vi.waitFor(() => expect(told('/again')).toBe(1));
  await first.stop();
  receiver.answer = (res) => void res.end();
  clock.advance(10_000);
  await deliveryOf().run();
  await vi.waitFor(() => expect(told('/again')).toBe(2));
});
