import { describe, expect, it } from 'vitest';
import { ManualClock, systemClock } from './clock.ts';

describe('clocks', () => {
  it('stand still until time passes', () => {
    const clock = new ManualClock(1000);
    expect([clock.now(), clock.monotonic()]).toEqual([1000, 0]);
    clock.advance(250);
    expect([clock.now(), clock.monotonic()]).toEqual([1250, 250]);
  });

  it('jump on the wall only', () => {
    const clock = new ManualClock(1000);
    clock.jump(-600);
    expect([clock.now(), clock.monotonic()]).toEqual([400, 0]);
    expect(() => clock.advance(-1)).toThrow(RangeError);
  });

  it('of the system go on', () => {
    const before = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(before);
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(60_000);
  });
});
