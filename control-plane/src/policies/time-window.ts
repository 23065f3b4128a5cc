import { MINUTES_A_DAY, MINUTES_A_WEEK, zoneClock } from './zone-clock.ts';
import type { TimeWindow, TimeWindowSettings } from '../core/policy.ts';

/** From and, exclusively, to; in minutes of the local week, over whose end the last one may run. */
type Span = readonly [from: number, to: number];

/**
 * Whether an instant lies in one of the windows, by what a clock on the wall of that zone shows: where daylight saving time
 * takes a local hour away, a window in it does not happen that day; where it repeats one, a window in it happens twice.
 *
 * @throws RangeError for a zone that the system does not know
 */
export function compileTimeWindow({ timezone, windows }: TimeWindowSettings): (atMs: number) => boolean {
  const minuteOfWeek = zoneClock(timezone);
  const spans = windows.flatMap(spansOf);
  return (atMs) => {
    const minute = minuteOfWeek(atMs);
    return spans.some(([from, to]) => holds(from, to, minute) || holds(from, to, minute + MINUTES_A_WEEK));
  };
}

const holds = (from: number, to: number, minute: number): boolean => from <= minute && minute < to;

function spansOf({ days, start, end }: TimeWindow): Span[] {
  const from = minuteOfDay(start);
  const until = minuteOfDay(end);
  const to = until > from ? until : until + MINUTES_A_DAY;
  return days.map((day) => [(day - 1) * MINUTES_A_DAY + from, (day - 1) * MINUTES_A_DAY + to]);
}

/** @param time `HH:MM` */
function minuteOfDay(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}
