/** Minutes since Monday 00:00 of a zone's local week, 0 to 10,079, at an instant in epoch milliseconds. */
export type ZoneClock = (atMs: number) => number;

export const MINUTES_A_DAY = 24 * 60;
export const MINUTES_A_WEEK = 7 * MINUTES_A_DAY;

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** By lower-case name: there are no more of them than the system knows zones. */
const clocks = new Map<string, ZoneClock>();

/**
 * Names that the system knows and IANA does not: abbreviations, of which each stands for one zone whatever its writer had in
 * mind (`BST` is Dhaka's, `AST` Anchorage's), and those of another system.
 */
const NOT_OF_IANA =
  /^(?:act|aet|agt|art|ast|bet|bst|cat|cnt|cst|ctt|eat|ect|iet|ist|jst|mit|net|nst|plt|pnt|prt|pst|sst|vst|systemv\/.*)$/i;

/** Whether this is the name of an IANA zone that the system knows; `+01:00` is an offset and none. */
export function isZone(timezone: string): boolean {
  if (!/^[a-z]/i.test(timezone) || NOT_OF_IANA.test(timezone)) return false;
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: timezone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * The local week of an IANA zone, daylight saving time and all.
 *
 * @throws RangeError for a zone that the system does not know
 */
export function zoneClock(timezone: string): ZoneClock {
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
    // A zone's offset is a whole number of seconds, so all requests of a second share one look-up.
    const second = Math.floor(atMs / 1_000);
    if (second !== lastSecond) {
      lastMinute = minuteOfWeek(format.formatToParts(second * 1_000));
      lastSecond = second;
    }
    return lastMinute;
  };
}

function minuteOfWeek(parts: readonly Intl.DateTimeFormatPart[]): number {
  const part = (type: string): string => parts.find((candidate) => candidate.type === type)?.value ?? '';
  return (
    WEEKDAYS.indexOf(part('weekday')) * MINUTES_A_DAY + Number(part('hour')) * 60 + Number(part('minute'))
  );
}
