/** R5 at length: clocks.test.ts plays a few of these schedules. */
import { test } from 'vitest';
import { runClockSchedules } from '../support/clock-schedules.ts';

test('on 200 schedules of clock changes nothing is accepted twice, and nothing expired is accepted again', () =>
  runClockSchedules(200));
