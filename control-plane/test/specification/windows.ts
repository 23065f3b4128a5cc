import type { ManualClock } from '@svault/shared';
import { expect } from 'vitest';

export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

const MINUTE_MS = 60_000;
export const perMinute = (limit: number): Rate => ({ limit, windowMs: MINUTE_MS });

/**
 * Goes through a window that begins with the first use: as many as it allows pass, the next is denied with the time that is
 * left, and so is another a millisecond before the end; at the end one passes again.
 *
 * @param ask the seconds to wait where it is denied, undefined where it passes
 * @param fill for large limits: so many uses at once, all of which pass
 */
export async function expectWindow(
  clock: ManualClock,
  { limit, windowMs }: Rate,
  ask: () => Promise<number | undefined>,
  fill?: (count: number) => Promise<void>,
): Promise<void> {
  await fill?.(limit - 1);
  for (let use = fill === undefined ? 1 : limit; use <= limit; use++)
    expect([use, await ask()]).toEqual([use, undefined]);
  expect(await ask()).toBe(windowMs / 1_000);
  clock.advance(windowMs - 1);
  expect(await ask()).toBe(1);
  clock.advance(1);
  expect(await ask()).toBeUndefined();
}
