import { ManualClock, newId } from '@svault/shared';
import { expect, test } from 'vitest';
import { createCounterStore, decisionTime } from './counter-store.ts';
import { type OwnedCounter, afterUse, ownedBy } from './kernel.ts';

const MINUTE = 60_000;
const ONCE = afterUse(undefined, MINUTE, 0);
const counterOf = (scope: 'key_reveal' | 'password_login', key: string): OwnedCounter =>
  ownedBy(undefined, { scope, key, limit: 1, windowMs: MINUTE });

test('a flood of addresses evicts no counter of a caller', () => {
  const store = createCounterStore();
  const caller = counterOf('key_reveal', newId('agt'));
  store.setWindow(caller, ONCE);
  for (let n = 0; n < 101_000; n += 1) store.setWindow(counterOf('password_login', String(n)), ONCE);
  expect(store.window(caller)).toEqual(ONCE);
});

test('a decision evicts expired entries', () => {
  const [store, clock] = [createCounterStore(), new ManualClock()];
  for (let n = 0; n < 8; n += 1) store.setWindow(counterOf('key_reveal', String(n)), ONCE);
  clock.advance(MINUTE);
  for (let n = 0; n < 3; n += 1) decisionTime(clock, store);
  expect(store.size).toBe(0);
});

test('the time of a decision is a whole number of milliseconds', () => {
  const clock = Object.assign(new ManualClock(), { monotonic: () => 1.5 });
  expect(decisionTime(clock, createCounterStore())).toBe(1);
});
