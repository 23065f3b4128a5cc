import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock, formatTime, parseTime, systemClock } from './clock.ts';

describe('clocks', () => {
  it('do not move until a test advances them', () => {
    const clock = new ManualClock(1000);
    expect([clock.now(), clock.monotonic()]).toEqual([1000, 0]);
    clock.advance(250);
    expect([clock.now(), clock.monotonic()]).toEqual([1250, 250]);
  });

  it('change the wall-clock time and not the monotonic time when they are set', () => {
    const clock = new ManualClock(1000);
    clock.jump(-600);
    expect([clock.now(), clock.monotonic()]).toEqual([400, 0]);
    expect(() => clock.advance(-1)).toThrow(RangeError);
  });

  it('read the time of the system', () => {
    const before = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(before);
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(60_000);
  });
});

describe('times', () => {
  it('have one format', () => {
    expect(formatTime(0)).toBe('1970-01-01T00:00:00.000Z');
    expect(formatTime(Date.UTC(2026, 1, 3, 4, 5, 6, 7))).toBe('2026-02-03T04:05:06.007Z');
  });

  it.each([
    ['2026-02-03T04:05:06Z', 0],
    ['2026-02-03T04:05:06.1Z', 100],
    ['2026-02-03T04:05:06.12Z', 120],
    ['2026-02-03T04:05:06.123Z', 123],
    ['2026-02-03T04:05:06.123456Z', 123],
    ['2026-02-03T04:05:06.999999999Z', 999],
  ])('parse with zero to nine fractional digits: %s', (text, ms) => {
    expect(parseTime(text)).toBe(Date.UTC(2026, 1, 3, 4, 5, 6, ms));
  });

  it.each([
    '',
    '2026-02-03',
    '2026-02-03T04:05:06',
    '2026-02-03T04:05Z',
    '2026-02-03T04:05:06.Z',
    '2026-02-03T04:05:06.1234567890Z',
    '2026-02-03T04:05:06+00:00',
    '2026-02-03T04:05:06.000z',
    '2026-02-03t04:05:06Z',
    '2026-02-03 04:05:06Z',
    ' 2026-02-03T04:05:06Z',
    '2026-02-03T04:05:06Z\n',
    '+002026-02-03T04:05:06Z',
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-12-31T23:59:60Z',
    '２026-02-03T04:05:06Z',
    '1767225600',
  ])('do not parse from %j', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });

  it('knows leap days and years before 100', () => {
    expect(parseTime('2024-02-29T00:00:00Z')).toBe(Date.UTC(2024, 1, 29));
    expect(parseTime('0050-01-01T00:00:00.000Z')).toBe(Date.parse('0050-01-01T00:00:00.000Z'));
  });

  it('parse to the instant that was formatted', () => {
    const ms = fc.integer({
      min: Date.parse('0000-01-01T00:00:00Z'),
      max: Date.parse('9999-12-31T23:59:59.999Z'),
    });
    fc.assert(fc.property(ms, (instant) => parseTime(formatTime(instant)) === instant));
  });
});
