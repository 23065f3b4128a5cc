import { describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { createBindOffers } from './bind-flow.ts';

describe('bind offers', () => {
  it('are taken once', () => {
    const offers = createBindOffers({ clock: new ManualClock() });
    const { token, hmacHash } = offers.make();
    expect(offers.take(token)?.hmacHash).toBe(hmacHash);
    expect(offers.take(token)).toBeUndefined();
    expect(offers.take('')).toBeUndefined();
  });

  it('each have a secret of their own', () => {
    const offers = createBindOffers({ clock: new ManualClock() });
    expect(offers.make().hmacHash).not.toBe(offers.make().hmacHash);
  });

  it('end after ten minutes of the monotonic clock', () => {
    const clock = new ManualClock();
    const offers = createBindOffers({ clock });
    const { token } = offers.make();
    clock.advance(10 * 60_000);
    clock.jump(-3_600_000);
    expect(offers.take(token)).toBeUndefined();
  });

  it('are bounded: the oldest gives way', () => {
    const offers = createBindOffers({ clock: new ManualClock() });
    const first = offers.make();
    const others = Array.from({ length: 16 }, () => offers.make());
    expect(offers.take(first.token)).toBeUndefined();
    expect(offers.take(others[0]!.token)).toBeDefined();
  });
});
