import { describe, expect, it } from 'vitest';
import { backOffMs } from './back-off.ts';

const MINUTE_MS = 60_000;

describe('the pause after failures', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 4],
    [4, 8],
    [5, 16],
    [6, 32],
    [7, 60],
    [8, 60],
    [100, 60],
    [5_000, 60],
  ])('after %i it is %i minutes at most', (failures, minutes) => {
    expect(backOffMs(failures, 0)).toBe(minutes * MINUTE_MS);
    // Chance takes up to a quarter, and makes no pause longer.
    expect(backOffMs(failures, 0.5)).toBe(minutes * MINUTE_MS * 0.875);
    expect(backOffMs(failures, 1 - Number.EPSILON)).toBe(minutes * MINUTE_MS * 0.75);
  });

  it('is whole milliseconds', () => {
    for (const random of [0.1, 1 / 3, 0.77]) expect(Number.isInteger(backOffMs(3, random))).toBe(true);
  });
});
