import { expect, test } from 'vitest';
import { AppError, formatTime } from '@svault/shared';
import { grantExpiry } from './grants.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const MONTH = 30 * 24 * HOUR;

test('neither form, or null, is "until revoked"', () => {
  expect(grantExpiry({}, NOW)).toBeUndefined();
  expect(grantExpiry({ grantExpiresAt: null }, NOW)).toBeUndefined();
});

test('seconds count from now', () => {
  expect(grantExpiry({ expiresInSeconds: 7_200 }, NOW)).toBe('2026-11-20T14:00:00.000Z');
});

test.each([HOUR, HOUR - MINUTE, MONTH, MONTH + MINUTE])('an instant %i ms from now is taken', (ms) => {
  expect(grantExpiry({ grantExpiresAt: formatTime(NOW + ms) }, NOW)).toBe(formatTime(NOW + ms));
});

test.each([0, -HOUR, HOUR - MINUTE - 1, MONTH + MINUTE + 1])('an instant %i ms from now is refused', (ms) => {
  expect(() => grantExpiry({ grantExpiresAt: formatTime(NOW + ms) }, NOW)).toThrow(AppError);
});

test('is written in one form, whatever the caller wrote', () => {
  expect(grantExpiry({ grantExpiresAt: '2026-11-21T00:00:00.1234Z' }, NOW)).toBe('2026-11-21T00:00:00.123Z');
});
