import { describe, expect, it } from 'vitest';
import { acceptsAgainMs, createFreshnessCheck } from './freshness.ts';

const FLOOR = 1_000_000_000;

describe('freshness', () => {
  it('rejects requests that expired below the time floor, and no others', () => {
    const isFresh = createFreshnessCheck({ floor: { nowMs: () => FLOOR }, restoredAtMs: undefined });
    expect(isFresh(FLOOR / 1000 - 90, FLOOR - 1)).toBe('below_time_floor');
    expect(isFresh(FLOOR / 1000 - 90, FLOOR)).toBeUndefined();
  });

  it('rejects requests made up to 30 s after a restore (PROTOCOL.md section 4)', () => {
    const isFresh = createFreshnessCheck({ floor: { nowMs: () => 0 }, restoredAtMs: FLOOR });
    const restored = FLOOR / 1000;
    expect(isFresh(restored - 10, Infinity)).toBe('before_restore');
    expect(isFresh(restored + 30, Infinity)).toBe('before_restore');
    expect(isFresh(restored + 31, Infinity)).toBeUndefined();
    expect(acceptsAgainMs(FLOOR)).toBe((restored + 31) * 1000);
  });
});
