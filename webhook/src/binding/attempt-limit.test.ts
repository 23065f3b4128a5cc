import { describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { createAttemptLimit } from './attempt-limit.ts';

describe('the attempt limit', () => {
  it('lets through as many as it says, then names the seconds until the oldest is over', () => {
    const clock = new ManualClock();
    const limit = createAttemptLimit({ clock, limit: 2, windowMs: 60_000 });
    expect(limit.take()).toBeUndefined();
    clock.advance(20_500);
    expect(limit.take()).toBeUndefined();
    expect(limit.take()).toBe(40);
    clock.advance(39_500);
    expect(limit.take()).toBeUndefined();
  });

  it('does not open when the wall clock jumps', () => {
    const clock = new ManualClock();
    const limit = createAttemptLimit({ clock, limit: 1, windowMs: 60_000 });
    limit.take();
    clock.jump(3_600_000);
    expect(limit.take()).toBe(60);
  });
});
