import { expect, test } from 'vitest';
import { createBoundedMap } from './bounded-map.ts';

/** Entries whose value is their weight and that never expire. */
const make = (max: number) =>
  createBoundedMap<number>({ max, endsAtMs: () => Infinity, weight: (value) => value });
/** Entries whose value is the time at which they expire, all of one weight. */
const makeEnding = () =>
  createBoundedMap<number>({ max: 10, endsAtMs: (endsAtMs) => endsAtMs, weight: () => 1 });

test('a full map evicts the oldest of the lightest entries', () => {
  const map = make(3);
  map.set('heavy', 2);
  map.set('a', 1);
  map.set('b', 1);
  map.set('c', 1);
  expect([...map.entries()]).toEqual([
    ['b', 1],
    ['c', 1],
    ['heavy', 2],
  ]);
});

test.each([2, 4, 8, 16, 1_000_000])('a flood of lighter entries evicts no entry of weight %i', (weight) => {
  const map = make(100);
  for (let entry = 0; entry < 50; entry += 1) map.set(`victim ${entry}`, weight);
  for (let entry = 0; entry < 10_000; entry += 1) map.set(`flood ${entry}`, Math.min(weight / 2, 8));
  for (let entry = 0; entry < 50; entry += 1) expect(map.get(`victim ${entry}`)).toBe(weight);
  expect(map.size).toBe(100);
});

test('a flood of heavy entries leaves room for light ones, and evicts the oldest of these first', () => {
  const map = make(80);
  for (let entry = 0; entry < 200; entry += 1) map.set(`heavy ${entry}`, 500);
  for (let entry = 0; entry < 200; entry += 1) map.set(`light ${entry}`, 1);
  expect(map.size).toBe(80);
  for (let entry = 190; entry < 200; entry += 1) expect(map.get(`light ${entry}`)).toBe(1);
  for (let entry = 130; entry < 200; entry += 1) expect(map.get(`heavy ${entry}`)).toBe(500);
});

test('an entry whose weight changes stays one entry', () => {
  const map = make(2);
  map.set('a', 1);
  for (const weight of [1, 2, 3, 100, 5, 1]) map.set('b', weight);
  expect(map.size).toBe(2);
  expect(map.get('b')).toBe(1);
  expect([...map.entries()]).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
});

test('evictExpired deletes expired entries and no others', () => {
  const map = makeEnding();
  for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) map.set(key, index);
  map.evictExpired(2, 10);
  expect([...map.entries()]).toEqual([['d', 3]]);
  expect(map.size).toBe(1);
});

test('evictExpired continues where it stopped and reaches entries of all weights', () => {
  const map = createBoundedMap<{ ends: number; weight: number }>({
    max: 10,
    endsAtMs: ({ ends }) => ends,
    weight: ({ weight }) => weight,
  });
  for (const weight of [1, 1, 3, 7, 15, 31]) map.set(`weight ${weight} ${map.size}`, { ends: 5, weight });
  map.evictExpired(0, 3);
  map.set('early', { ends: 1, weight: 1 });
  for (let call = 0; call < 20; call += 1) map.evictExpired(2, 1);
  expect(map.get('early')).toBeUndefined();
  expect(map.size).toBe(6);
  for (let call = 0; call < 10; call += 1) map.evictExpired(5, 40);
  expect(map.size).toBe(0);
});
