import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTimeWindow, isZone } from './time-window.ts';
import type { TimeWindow, TimeWindowSettings } from '../core/policy.ts';

const MINUTE_MS = 60_000;
const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];

const rule = (timezone: string, ...windows: readonly [days: number[], start: string, end: string][]) => ({
  timezone,
  windows: windows.map(([days, start, end]) => ({ days, start, end })),
});

/** The openings between two instants, in UTC, minute by minute: `2026-03-29T00:30–01:00`. */
function openings(settings: TimeWindowSettings, from: string, to: string): string[] {
  const isOpen = compileTimeWindow(settings);
  const found: string[] = [];
  let since: number | undefined;
  for (let at = Date.parse(from); at <= Date.parse(to); at += MINUTE_MS) {
    const open = at < Date.parse(to) && isOpen(at);
    if (open) since ??= at;
    else if (since !== undefined) {
      found.push(`${minuteText(since)}–${minuteText(at).slice(-5)}`);
      since = undefined;
    }
  }
  return found;
}

const minuteText = (at: number): string => new Date(at).toISOString().slice(0, 16);

describe('a time window', () => {
  it('is open from its start until right before its end', () => {
    const isOpen = compileTimeWindow(rule('UTC', [[5], '09:00', '17:30']));
    const at = (time: string): boolean => isOpen(Date.parse(`2026-11-20T${time}Z`));
    expect(at('08:59:59.999')).toBe(false);
    expect(at('09:00:00.000')).toBe(true);
    expect(at('17:29:59.999')).toBe(true);
    expect(at('17:30:00.000')).toBe(false);
  });

  it('counts days from Monday, 1, to Sunday, 7', () => {
    for (const day of EVERY_DAY) {
      const isOpen = compileTimeWindow(rule('UTC', [[day], '00:00', '23:59']));
      const open = EVERY_DAY.filter((other) => isOpen(Date.UTC(2026, 10, 15 + other, 12)));
      expect(open).toEqual([day]);
    }
  });

  it('runs over midnight where it ends before it starts, on the day on which it starts', () => {
    const friday = rule('UTC', [[5], '22:00', '06:00']);
    expect(openings(friday, '2026-11-16T00:00Z', '2026-11-23T00:00Z')).toEqual(['2026-11-20T22:00–06:00']);
    const sunday = rule('UTC', [[7], '22:00', '06:00']);
    expect(openings(sunday, '2026-11-16T12:00Z', '2026-11-24T00:00Z')).toEqual(['2026-11-22T22:00–06:00']);
  });

  it('ends at midnight where it ends at 00:00', () => {
    const settings = rule('UTC', [[5], '18:00', '00:00']);
    expect(openings(settings, '2026-11-20T00:00Z', '2026-11-22T00:00Z')).toEqual(['2026-11-20T18:00–00:00']);
  });

  it('among others opens wherever one of them does', () => {
    const settings = rule('UTC', [[5], '01:00', '02:00'], [[5], '01:30', '03:00'], [[5], '04:00', '04:01']);
    expect(openings(settings, '2026-11-20T00:00Z', '2026-11-21T00:00Z')).toEqual([
      '2026-11-20T01:00–03:00',
      '2026-11-20T04:00–04:01',
    ]);
  });
});

describe('daylight saving time', () => {
  const cases: readonly [string, string, string, string, string, string[]][] = [
    // Europe/Berlin 2026: 02:00 → 03:00 on 29 March and 03:00 → 02:00 on 25 October, both at 01:00 UTC.
    ['Europe/Berlin', '02:15', '02:45', 'spring: the hour is skipped', '2026-03-29', []],
    [
      'Europe/Berlin',
      '01:30',
      '02:30',
      'spring: the rest of the window is skipped',
      '2026-03-29',
      ['00:30–01:00'],
    ],
    [
      'Europe/Berlin',
      '02:15',
      '02:45',
      'autumn: the hour happens twice',
      '2026-10-25',
      ['00:15–00:45', '01:15–01:45'],
    ],
    ['Europe/Berlin', '02:00', '03:00', 'autumn: twice without a break', '2026-10-25', ['00:00–02:00']],
    // Lord Howe, half an hour: 02:00 → 01:30 on 5 April 2026 at 15:00 UTC, 02:00 → 02:30 on 4 October at 15:30 UTC.
    ['Australia/Lord_Howe', '01:30', '02:00', 'autumn: twice', '2026-04-04', ['14:30–15:30']],
    ['Australia/Lord_Howe', '01:45', '02:45', 'spring', '2026-10-03', ['15:15–15:45']],
  ];
  it.each(cases)('%s %s–%s, %s', (timezone, start, end, _what, date, expected) => {
    const noon = Date.parse(`${date}T12:00Z`);
    const [from, to] =
      timezone === 'Australia/Lord_Howe' ? [noon, noon + 6 * 3_600_000] : [noon - 14 * 3_600_000, noon];
    const found = openings(
      rule(timezone, [EVERY_DAY, start, end]),
      minuteText(from) + 'Z',
      minuteText(to) + 'Z',
    );
    expect(found.map((opening) => opening.slice(11))).toEqual(expected);
  });

  it('makes a night with the change an hour shorter or longer', () => {
    const night = rule('Europe/Berlin', [[6], '22:00', '06:00']);
    expect(openings(night, '2026-03-28T12:00Z', '2026-03-29T12:00Z')).toEqual(['2026-03-28T21:00–04:00']);
    expect(openings(night, '2026-10-24T12:00Z', '2026-10-25T12:00Z')).toEqual(['2026-10-24T20:00–05:00']);
  });
});

describe('a time window, against a slow and simple model,', () => {
  const ZONES = [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'Pacific/Chatham',
    'Pacific/Kiritimati',
    'Africa/Casablanca',
    'America/Santiago',
  ];

  /** Compares local dates and times as texts. */
  function isOpenInModel({ timezone, windows }: TimeWindowSettings, at: number): boolean {
    const local = new Date(at).toLocaleString('sv-SE', { timeZone: timezone }).slice(0, 16);
    const day = (offset: number): Date =>
      new Date(Date.parse(`${local.slice(0, 10)}T00:00Z`) + offset * 86_400_000);
    const text = (date: Date, time: string): string => `${date.toISOString().slice(0, 10)} ${time}`;
    return windows.some(({ days, start, end }) =>
      [-1, 0].some((offset) => {
        const begins = day(offset);
        const ends = end > start ? begins : day(offset + 1);
        return (
          days.includes(begins.getUTCDay() || 7) && text(begins, start) <= local && local < text(ends, end)
        );
      }),
    );
  }

  const timeOfDay = fc
    .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'));
  const window: fc.Arbitrary<TimeWindow> = fc
    .record({
      days: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      start: timeOfDay,
      end: timeOfDay,
    })
    .filter(({ start, end }) => start !== end);
  const settings = fc.record({
    timezone: fc.constantFrom(...ZONES),
    windows: fc.array(window, { minLength: 1, maxLength: 4 }),
  });

  it('is open at the same times, around changes of the clock too', () => {
    const changes = [
      '2026-03-29T01:00Z',
      '2026-10-25T01:00Z',
      '2026-03-08T07:00Z',
      '2026-11-01T06:00Z',
      '2026-04-04T15:00Z',
      '2026-10-03T15:30Z',
    ].map((date) => Date.parse(date));
    const nearAChange = fc
      .tuple(fc.constantFrom(...changes), fc.integer({ min: -6 * 3_600_000, max: 6 * 3_600_000 }))
      .map(([at, offset]) => at + offset);
    const anyTime = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2040, 0) });
    const times = fc.array(fc.oneof(anyTime, nearAChange), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(settings, times, (each, instants) => {
        const isOpen = compileTimeWindow(each);
        for (const at of instants) expect(isOpen(at)).toBe(isOpenInModel(each, at));
      }),
      { numRuns: 600 },
    );
  });
});

describe('isZone', () => {
  it.each(['Europe/Berlin', 'America/Argentina/Buenos_Aires', 'UTC', 'Asia/Kathmandu'])(
    'accepts %s',
    (zone) => {
      expect(isZone(zone)).toBe(true);
    },
  );
  it.each(['', 'Mars/Olympus', '+01:00', '-0500', 'Europe/Berlin ', '../etc/passwd', 'Europe/', 'local'])(
    'rejects %j',
    (zone) => {
      expect(isZone(zone)).toBe(false);
    },
  );
  it.each(['BST', 'IST', 'AST', 'CST', 'pst', 'SystemV/AST4'])(
    'rejects %s, which ICU takes for another zone than its writer means',
    (zone) => {
      expect(isZone(zone)).toBe(false);
    },
  );
});
