import { expect, test } from 'vitest';
import { createBoundedMap } from './bounded-map.ts';

/** Entries that weigh what they are, and never end. */
const make = (max: number) =>
  createBoundedMap<number>({ max, endsAtMs: () => Infinity, weight: (value) => value });
/** Entries that end at what they are, and weigh all the same. */
const makeEnding = () =>
  createBoundedMap<number>({ max: 10, endsAtMs: (endsAtMs) => endsAtMs, weight: () => 1 });

test('where there is no room, the oldest of the lightest entries goes', () => {
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

test.each([2, 4, 8, 16, 1_000_000])('a flood of lighter entries pushes out none of weight %i', (weight) => {
  const map = make(100);
  for (let entry = 0; entry < 50; entry += 1) map.set(`victim ${entry}`, weight);
  for (let entry = 0; entry < 10_000; entry += 1) map.set(`flood ${entry}`, Math.min(weight / 2, 8));
  for (let entry = 0; entry < 50; entry += 1) expect(map.get(`victim ${entry}`)).toBe(weight);
  expect(map.size).toBe(100);
});

test('a flood of heavy entries leaves room for light ones, and of these the oldest go first', () => {
  const map = make(80);
  for (let entry = 0; entry < 200; entry += 1) map.set(`heavy ${entry}`, 500);
  for (let entry = 0; entry < 200; entry += 1) map.set(`light ${entry}`, 1);
  expect(map.size).toBe(80);
  for (let entry = 190; entry < 200; entry += 1) expect(map.get(`light ${entry}`)).toBe(1);
  for (let entry = 130; entry < 200; entry += 1) expect(map.get(`heavy ${entry}`)).toBe(500);
});

test('an entry that grows or shrinks is there once', () => {
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

test('a sweep forgets what has ended, and nothing else', () => {
  const map = makeEnding();
  for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) map.set(key, index);
  map.sweep(2, 10);
  expect([...map.entries()]).toEqual([['d', 3]]);
  expect(map.size).toBe(1);
});

test('sweeps go on where they stopped, and come round through all weights', () => {
  const map = createBoundedMap<{ ends: number; weight: number }>({
    max: 10,
    endsAtMs: ({ ends }) => ends,
    weight: ({ weight }) => weight,
  });
  for (const weight of [1, 1, 3, 7, 15, 31]) map.set(`weight ${weight} ${map.size}`, { ends: 5, weight });
  map.sweep(0, 3);
  map.set('early', { ends: 1, weight: 1 });
  for (let sweep = 0; sweep < 20; sweep += 1) map.sweep(2, 1);
  expect(map.get('early')).toBeUndefined();
  expect(map.size).toBe(6);
  for (let sweep = 0; sweep < 10; sweep += 1) map.sweep(5, 40);
  expect(map.size).toBe(0);
});
