import { describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { createBindOffers } from './bind-flow.ts';

describe('bind offers', () => {
  it('can be used once', () => {
    const offers = createBindOffers({ clock: new ManualClock() });
    const { token, hmacHash } = offers.make();
    expect(offers.take(token)?.hmacHash).toBe(hmacHash);
    expect(offers.take(token)).toBeUndefined();
    expect(offers.take('')).toBeUndefined();
  });

  it('each have a different secret', () => {
    const offers = createBindOffers({ clock: new ManualClock() });
    expect(offers.make().hmacHash).not.toBe(offers.make().hmacHash);
  });

  it('expire after ten minutes of the monotonic clock', () => {
    const clock = new ManualClock();
    const offers = createBindOffers({ clock });
    const { token } = offers.make();
    clock.advance(10 * 60_000);
    clock.jump(-3_600_000);
    expect(offers.take(token)).toBeUndefined();
  });

  it('are limited in number: the oldest is dropped', () => {
    const offers = createBindOffers({ clock: new ManualClock() });
    const first = offers.make();
    const others = Array.from({ length: 16 }, () => offers.make());
    expect(offers.take(first.token)).toBeUndefined();
    expect(offers.take(others[0]!.token)).toBeDefined();
  });
});
