import { expect, test } from 'vitest';
import { createBoundedMap } from './bounded-map.ts';

const make = (most: number) => createBoundedMap<number>({ most, endsAtMs: (endsAtMs) => endsAtMs });

test('where there is no room, the entry that was put in longest ago goes', () => {
  const map = make(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  map.set('c', 4);
  expect([...map.entries()]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});

test('an entry that is put in again takes no room from another', () => {
  const map = make(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('b', 3);
  expect(map.size).toBe(2);
});

test('a sweep forgets what has ended, and nothing else', () => {
  const map = make(10);
  for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) map.set(key, index);
  map.sweep(2, 10);
  expect([...map.entries()]).toEqual([['d', 3]]);
});

test('sweeps go on where they stopped, and come round', () => {
  const map = make(10);
  for (const key of ['a', 'b', 'c', 'd']) map.set(key, 5);
  map.sweep(0, 3);
  map.set('a', 1);
  // d and a, which was put in behind it; then the end; then from the start.
  map.sweep(2, 2);
  expect(map.get('a')).toBeUndefined();
  map.sweep(9, 10);
  map.sweep(9, 10);
  expect(map.size).toBe(0);
});
