import { expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { createFailurePause } from './failure-pause.ts';

const FAILED = 'failed';

test('failures expire an hour after their pause, so that deleted records leave nothing', () => {
  const clock = new ManualClock();
  const pause = createFailurePause<string>(clock);
  const failTwice = (name: string): void => {
    pause.record(name, FAILED);
    pause.record(name, FAILED);
  };
  const names = Array.from({ length: 1_500 }, (_, at) => `name ${at}`);
  for (const name of names) failTwice(name);
  expect(pause.failureOf('name 0')).toBe(FAILED);
  clock.advance(5_000);
  expect(pause.failureOf('name 0')).toBeUndefined();
  clock.advance(3_600_000);
  // A further failure evicts the others: their next failure is a first one, which has no pause.
  failTwice('another');
  for (const name of names) pause.record(name, FAILED);
  expect(names.filter((name) => pause.failureOf(name) !== undefined)).toEqual([]);
  expect(pause.failureOf('another')).toBe(FAILED);
});
