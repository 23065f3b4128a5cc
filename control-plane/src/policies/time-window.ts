import * as z from 'zod';
import type { TimeWindow, TimeWindowSettings } from '../core/policy.ts';

const MINUTES_A_DAY = 24 * 60;
const MINUTES_A_WEEK = 7 * MINUTES_A_DAY;

/** From and, exclusively, to, in minutes of the local week; the last one may run over its end. */
type Span = readonly [from: number, to: number];

/**
 * Whether an instant lies in one of the windows by the zone's local time. Where daylight saving time skips a local hour, a
 * window in it does not happen that day; where it repeats one, the window happens twice.
 *
 * @throws RangeError for a zone that the system does not know
 */
export function compileTimeWindow({ timezone, windows }: TimeWindowSettings): (atMs: number) => boolean {
  const minuteOfWeek = zoneClock(timezone);
  const spans = windows.flatMap(spansOf);
  return (atMs) => {
    const minute = minuteOfWeek(atMs);
    return spans.some(
      ([from, to]) => contains(from, to, minute) || contains(from, to, minute + MINUTES_A_WEEK),
    );
  };
}

const contains = (from: number, to: number, minute: number): boolean => from <= minute && minute < to;

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

/** Minutes since Monday 00:00 of the local week, 0 to 10,079, at an instant in epoch milliseconds. */
type ZoneClock = (atMs: number) => number;

/** By lower-case name: no more than the system knows zones. */
const clocks = new Map<string, ZoneClock>();

/** @throws RangeError for a zone that the system does not know */
function zoneClock(timezone: string): ZoneClock {
  const name = timezone.toLowerCase();
  const known = clocks.get(name);
  if (known !== undefined) return known;
  const made = createZoneClock(timezone);
  clocks.set(name, made);
  return made;
}

function createZoneClock(timeZone: string): ZoneClock {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  let lastSecond = NaN;
  let lastMinute = 0;
  return (atMs) => {
    // A zone's offset is a whole number of seconds, so all requests of a second share one conversion.
    const second = Math.floor(atMs / 1_000);
    if (second !== lastSecond) {
      lastMinute = minuteOfWeek(format.formatToParts(second * 1_000));
      lastSecond = second;
    }
    return lastMinute;
  };
}

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

function minuteOfWeek(parts: readonly Intl.DateTimeFormatPart[]): number {
  const part = (type: string): string => parts.find((candidate) => candidate.type === type)?.value ?? '';
  return (
    WEEKDAYS.indexOf(part('weekday')) * MINUTES_A_DAY + Number(part('hour')) * 60 + Number(part('minute'))
  );
}

/**
 * Names that ICU knows and IANA does not: abbreviations, each of which means one zone whatever its writer had in mind (`BST`
 * is Dhaka, `AST` Anchorage), and System V names.
 */
const NOT_OF_IANA =
  /^(?:act|aet|agt|art|ast|bet|bst|cat|cnt|cst|ctt|eat|ect|iet|ist|jst|mit|net|nst|plt|pnt|prt|pst|sst|vst|systemv\/.*)$/i;

/** Whether this is the name of an IANA zone that the system knows; an offset such as `+01:00` is not. */
export function isZone(timezone: string): boolean {
  if (!/^[a-z]/i.test(timezone) || NOT_OF_IANA.test(timezone)) return false;
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: timezone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const MAX_WINDOWS = 50;

const timeOfDay = z.string().regex(/^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time of day, HH:MM');

const windowSchema = z
  .strictObject({
    days: z
      .array(z.int().min(1).max(7))
      .min(1, 'must have a day')
      .max(7)
      .refine((days) => new Set(days).size === days.length, 'must name each day once')
      .meta({ description: 'Monday is 1, Sunday 7: the days on which the window begins' }),
    start: timeOfDay,
    end: timeOfDay.meta({ description: 'Before start it is the next day’s' }),
  })
  .refine(({ start, end }) => start !== end, { path: ['end'], message: 'must not be equal to start' });

export const timeWindowMembers = {
  timezone: z
    .string()
    .max(64)
    .refine(isZone, 'must be an IANA time zone')
    .meta({ examples: ['Europe/Berlin'] }),
  windows: z.array(windowSchema).min(1).max(MAX_WINDOWS),
};
