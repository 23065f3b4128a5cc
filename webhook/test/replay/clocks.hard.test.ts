/** R5 at length: clocks.test.ts plays a few of these schedules. */
import { test } from 'vitest';
import { runClockSchedules } from '../support/clock-schedules.ts';

test('a clock that is set lets nothing live twice and nothing expired live again, on 200 schedules', () =>
  runClockSchedules(200));
