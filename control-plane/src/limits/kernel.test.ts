import { expect, test } from 'vitest';
import { type PenaltyBox, boxExpiresAtMs, fullForMs, afterStrike, afterUse, windowAt } from './kernel.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('a window begins with its first use and ends after its length, whatever later uses there are', () => {
  const first = afterUse(undefined, MINUTE, 1_000);
  const second = afterUse(first, MINUTE, 31_000);
  expect(second).toEqual({ endsAtMs: 61_000, count: 2 });
  expect(windowAt(second, 60_999)).toBe(second);
  expect(windowAt(second, 61_000)).toBeUndefined();
  expect(afterUse(second, MINUTE, 61_000)).toEqual({ endsAtMs: 121_000, count: 1 });
});

test('a use does not change the window that it was computed from', () => {
  const first = afterUse(undefined, MINUTE, 0);
  afterUse(first, MINUTE, 1);
  expect(first.count).toBe(1);
});

test('a window is full from its limit on, until it ends', () => {
  const once = afterUse(undefined, MINUTE, 0);
  expect(fullForMs(undefined, 1, 0)).toBe(0);
  expect(fullForMs(once, 2, 0)).toBe(0);
  expect(fullForMs(once, 1, 0)).toBe(MINUTE);
  expect(fullForMs(once, 1, MINUTE - 1)).toBe(1);
  expect(fullForMs(once, 1, MINUTE)).toBe(0);
});

test('a window is full at once where its limit is lowered below its count', () => {
  const thrice = afterUse(afterUse(afterUse(undefined, MINUTE, 0), MINUTE, 0), MINUTE, 0);
  expect(fullForMs(thrice, 1, 0)).toBe(MINUTE);
});

/** A box after so many strikes without a pause. */
function after(strikes: number): PenaltyBox {
  let box = afterStrike(undefined, 1, 0);
  for (let strike = 2; strike <= strikes; strike += 1) box = afterStrike(box, 1, 0);
  return box;
}

test('a penalty box expires when all strikes have decayed and the lockout has ended', () => {
  expect(boxExpiresAtMs(after(3))).toBe(3 * HOUR);
  expect(boxExpiresAtMs(afterStrike(undefined, 2 * HOUR, 0))).toBe(2 * HOUR);
});
