import type { ManualClock } from '@svault/shared';
import { expect } from 'vitest';
import type { Answer } from '../management-service.ts';
import { expectRateLimited } from './answers.ts';

interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/**
 * Plays a window that begins with the first use: as many as it allows, then the next is refused with the time that is
 * left; a millisecond before the end it still is, and at the end it is not.
 *
 * @param ask the seconds to wait where it is refused, undefined where it passes
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

/** The same at an endpoint, whose refusal is 429 RATE_LIMITED with exactly its members. */
export const expectWindowAt = (
  clock: ManualClock,
  rate: Rate,
  {
    call,
    passes,
    fill,
  }: {
    readonly call: () => Promise<Answer>;
    readonly passes: (answer: Answer) => void;
    readonly fill?: (count: number) => Promise<void>;
  },
): Promise<void> =>
  expectWindow(
    clock,
    rate,
    async () => {
      const answer = await call();
      if (answer.status !== 429) {
        passes(answer);
        return undefined;
      }
      expectRateLimited(answer, answer.json.retryAfter);
      return answer.json.retryAfter as number;
    },
    fill,
  );
