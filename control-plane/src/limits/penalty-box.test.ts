import { describe, expect, test } from 'vitest';
import { type PenaltyBox, forgottenAtMs, lockedForMs, strikesAt, struck } from './penalty-box.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A box after so many strikes, one right after the other. */
function after(strikes: number, floorFullForMs = 1): PenaltyBox {
  let box: PenaltyBox | undefined;
  for (let strike = 1; strike < strikes; strike += 1) box = struck(box, 1, 0);
  return struck(box, floorFullForMs, 0);
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
  ])('of strike %i is %i ms', (strikes, lockoutMs) => {
    expect(lockedForMs(after(strikes), 0)).toBe(lockoutMs);
  });

  test("is at least what is left of the floor's window", () => {
    expect(lockedForMs(after(1, MINUTE), 0)).toBe(MINUTE);
    expect(lockedForMs(after(8, MINUTE), 0)).toBe(128 * SECOND);
  });

  test('ends to the millisecond', () => {
    expect(lockedForMs(after(2), 2 * SECOND - 1)).toBe(1);
    expect(lockedForMs(after(2), 2 * SECOND)).toBe(0);
    expect(lockedForMs(undefined, 0)).toBe(0);
  });
});

describe('the decay', () => {
  test.each([
    [0, 3],
    [HOUR - 1, 3],
    [HOUR, 2],
    [2 * HOUR - 1, 2],
    [2 * HOUR, 1],
    [3 * HOUR, 0],
    [1_000 * HOUR, 0],
  ])('%i ms after the last of three violations %i strikes are left', (ms, left) => {
    expect(strikesAt(after(3), ms)).toBe(left);
  });

  test('a violation begins the hour anew', () => {
    const again = struck(after(3), 1, HOUR - 1);
    expect(strikesAt(again, 2 * HOUR - 2)).toBe(4);
    expect(strikesAt(again, 2 * HOUR - 1)).toBe(3);
  });

  test('a strike counts on from what is left', () => {
    const again = struck(after(3), 1, 2 * HOUR);
    expect(again.strikes).toBe(2);
    expect(lockedForMs(again, 2 * HOUR)).toBe(2 * SECOND);
  });
});

test('it is forgotten once all strikes have decayed and the lockout has ended', () => {
  expect(forgottenAtMs(after(3))).toBe(3 * HOUR);
  expect(forgottenAtMs(struck(undefined, 2 * HOUR, 0))).toBe(2 * HOUR);
});
