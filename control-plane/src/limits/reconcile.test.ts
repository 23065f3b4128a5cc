import { newId } from '@svault/shared';
import { expect, test } from 'vitest';
import { createCounterStore } from './counter-store.ts';
import { afterUse, lockedForMs, ownedBy } from './kernel.ts';
import { applyReply, flush, unflush, withPendingUses } from './reconcile.ts';

const MINUTE = 60_000;
const vaultId = newId('vlt');
const counter = ownedBy(vaultId, { scope: 'key_reveal', key: 'x', limit: 10, windowMs: MINUTE });

function start() {
  const store = createCounterStore();
  const withoutRedis = withPendingUses(store);
  return {
    store,
    useWithoutRedis: (nowMs: number) =>
      withoutRedis.setWindow(counter, afterUse(store.window(counter), MINUTE, nowMs)),
    reply: (count: number, leftMs: number, at: number) =>
      applyReply(
        store,
        { windows: [{ counter, count, leftMs, added: 1 }], box: undefined },
        { sentMs: at, receivedMs: at },
      ),
  };
}

test('flushed increments of a window that has ended do not become pending in the next one', () => {
  const { store, useWithoutRedis } = start();
  useWithoutRedis(0);
  const flushed = flush(store, counter, 1);
  useWithoutRedis(MINUTE);
  unflush(store, [flushed], { sentMs: 1, receivedMs: MINUTE + 1 });
  expect(store.window(counter)).toEqual({ endsAtMs: 2 * MINUTE, count: 1, pending: 1 });
});

test('pending increments count in addition to those at Redis', () => {
  const { store, useWithoutRedis, reply } = start();
  useWithoutRedis(0);
  reply(5, MINUTE, 0);
  expect(store.window(counter)).toMatchObject({ count: 6, pending: 1 });
});

test('a window that is copied from Redis ends earlier here, since clocks differ in speed', () => {
  const { store, reply } = start();
  reply(1, MINUTE, 1_000);
  expect(store.window(counter)).toEqual({ count: 1, endsAtMs: 1_000 + 59_938 });
});

test('a reply does not shorten a lockout', () => {
  const { store } = start();
  const caller = { vaultId, callerId: newId('agt') };
  const lockedFor = (ms: number): number => {
    const box = { caller, state: { strikes: 1, violatedForMs: 0, lockedForMs: ms } };
    applyReply(store, { windows: [], box }, { sentMs: 0, receivedMs: 0 });
    return lockedForMs(store.box(caller), 0);
  };
  expect([9_000, 60_000, 9_000].map(lockedFor)).toEqual([9_000, 60_000, 60_000]);
});
