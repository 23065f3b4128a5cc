import { describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { createSlidingWindow } from './sliding-window.ts';

describe('A sliding window', () => {
  it('allows its limit, then returns the seconds until the oldest event leaves it', () => {
    const clock = new ManualClock();
    const window = createSlidingWindow({ clock, limit: 2, windowMs: 60_000 });
    expect(window.take('a')).toBeUndefined();
    clock.advance(20_500);
    expect(window.take('a')).toBeUndefined();
    expect(window.take('a')).toBe(40);
    expect(window.take('b')).toBeUndefined();
    clock.advance(39_500);
    expect(window.take('a')).toBeUndefined();
  });

  it('does not depend on the wall clock', () => {
    const clock = new ManualClock();
    const window = createSlidingWindow({ clock, limit: 1, windowMs: 60_000 });
    window.take('a');
    clock.jump(3_600_000);
    expect(window.take('a')).toBe(60);
  });
});
