import { expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { createFailurePause } from './failure-pause.ts';

const FAILED = { outcome: 'failed', code: 'PROVIDER_ERROR' } as const;

test('failures are forgotten an hour after their pause, so that deleted records leave nothing behind', () => {
  const clock = new ManualClock();
  const pause = createFailurePause(clock);
  const failTwice = (name: string): void => {
    pause.note(name, 1, FAILED);
    pause.note(name, 1, FAILED);
  };
  const names = Array.from({ length: 1_500 }, (_, at) => `name ${at}`);
  for (const name of names) failTwice(name);
  expect(pause.failureOf('name 0', 1)).toBe(FAILED);
  clock.advance(5_000);
  expect(pause.failureOf('name 0', 1)).toBeUndefined();
  clock.advance(3_600_000);
  // One more sweeps the others out: their next failure is a first one, which has no pause.
  failTwice('another');
  for (const name of names) pause.note(name, 1, FAILED);
  expect(names.filter((name) => pause.failureOf(name, 1) !== undefined)).toEqual([]);
  expect(pause.failureOf('another', 1)).toBe(FAILED);
});
