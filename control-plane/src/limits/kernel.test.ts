import { describe, expect, test } from 'vitest';
import {
  type PenaltyBox,
  boxExpiresAtMs,
  fullForMs,
  lockedForMs,
  strikesAt,
  afterStrike,
  afterUse,
  windowAt,
} from './kernel.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
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
function after(strikes: number, floorFullForMs = 1): PenaltyBox {
  let box: PenaltyBox | undefined;
  for (let strike = 1; strike < strikes; strike += 1) box = afterStrike(box, 1, 0);
  return afterStrike(box, floorFullForMs, 0);
}

describe('the lockout', () => {
  test.each([
    [1, SECOND],
    [2, 2 * SECOND],
    [3, 4 * SECOND],
    [4, 8 * SECOND],
    [9, 256 * SECOND],
    [10, 512 * SECOND],
    [11, 15 * MINUTE],
    [12, 15 * MINUTE],
    [5_000, 15 * MINUTE],
  ])('of strike %i lasts %i ms', (strikes, lockoutMs) => {
    expect(lockedForMs(after(strikes), 0)).toBe(lockoutMs);
  });

  test("lasts at least until the floor's window ends", () => {
    expect(lockedForMs(after(1, MINUTE), 0)).toBe(MINUTE);
    expect(lockedForMs(after(8, MINUTE), 0)).toBe(128 * SECOND);
  });

  test('ends exact to the millisecond', () => {
    expect(lockedForMs(after(2), 2 * SECOND - 1)).toBe(1);
    expect(lockedForMs(after(2), 2 * SECOND)).toBe(0);
    expect(lockedForMs(undefined, 0)).toBe(0);
  });
});

describe('the decay of strikes', () => {
  test.each([
    [0, 3],
    [HOUR - 1, 3],
    [HOUR, 2],
    [2 * HOUR - 1, 2],
    [2 * HOUR, 1],
    [3 * HOUR, 0],
    [1_000 * HOUR, 0],
  ])('leaves, %i ms after the last of three violations, %i strikes', (ms, left) => {
    expect(strikesAt(after(3), ms)).toBe(left);
  });

  test('starts again with each violation', () => {
    const again = afterStrike(after(3), 1, HOUR - 1);
    expect(strikesAt(again, 2 * HOUR - 2)).toBe(4);
    expect(strikesAt(again, 2 * HOUR - 1)).toBe(3);
  });

  test('takes strikes off before the next one is added', () => {
    const again = afterStrike(after(3), 1, 2 * HOUR);
    expect(again.strikes).toBe(2);
    expect(lockedForMs(again, 2 * HOUR)).toBe(2 * SECOND);
  });
});

test('a penalty box expires when all strikes have decayed and the lockout has ended', () => {
  expect(boxExpiresAtMs(after(3))).toBe(3 * HOUR);
  expect(boxExpiresAtMs(afterStrike(undefined, 2 * HOUR, 0))).toBe(2 * HOUR);
});
