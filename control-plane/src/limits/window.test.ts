import { expect, test } from 'vitest';
import { fullForMs, used, windowAt } from './window.ts';

const MINUTE = 60_000;

test('a window begins with its first use and ends its length later, however it is used', () => {
  const first = used(undefined, MINUTE, 1_000);
  const second = used(first, MINUTE, 31_000);
  expect(second).toEqual({ endsAtMs: 61_000, count: 2 });
  expect(windowAt(second, 60_999)).toBe(second);
  expect(windowAt(second, 61_000)).toBeUndefined();
  expect(used(second, MINUTE, 61_000)).toEqual({ endsAtMs: 121_000, count: 1 });
});

test('a use makes another window and leaves the one before as it was', () => {
  const first = used(undefined, MINUTE, 0);
  used(first, MINUTE, 1);
  expect(first.count).toBe(1);
});

test('it is full from the limit on, until it ends', () => {
  const once = used(undefined, MINUTE, 0);
  expect(fullForMs(undefined, 1, 0)).toBe(0);
  expect(fullForMs(once, 2, 0)).toBe(0);
  expect(fullForMs(once, 1, 0)).toBe(MINUTE);
  expect(fullForMs(once, 1, MINUTE - 1)).toBe(1);
  expect(fullForMs(once, 1, MINUTE)).toBe(0);
});

test('a limit that is lowered meanwhile is full at once', () => {
  const thrice = used(used(used(undefined, MINUTE, 0), MINUTE, 0), MINUTE, 0);
  expect(fullForMs(thrice, 1, 0)).toBe(MINUTE);
});
