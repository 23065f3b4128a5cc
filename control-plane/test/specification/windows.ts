import type { ManualClock } from '@svault/shared';
import { expect } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { expectRateLimited } from './answers.ts';

export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

const MINUTE_MS = 60_000;
export const perMinute = (limit: number): Rate => ({ limit, windowMs: MINUTE_MS });
export const perHour = (limit: number): Rate => ({ limit, windowMs: 60 * MINUTE_MS });
export const perDay = (limit: number): Rate => ({ limit, windowMs: 24 * 60 * MINUTE_MS });

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

/** The same at an endpoint, whose denial is 429 RATE_LIMITED with exactly its members. */
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
