import { formatTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import { describe, expect, it } from 'vitest';
import type { RefreshAttempt } from '../core/refresh-attempt.ts';
import type { RefreshResult } from './refresh-result.ts';
import { backOffMs, isDue, settledAttempt, startedAttempt } from './schedule.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const MINUTE_MS = 60_000;
const at = (minutes: number): string => formatTime(NOW + minutes * MINUTE_MS);

const inSeconds = (seconds: number): string => at(seconds / 60);

const token = (changes: Partial<TokenMetadata> = {}): TokenMetadata => ({
  serviceName: 'mail',
  tokenType: 'JWT',
  createdAt: at(-10_000),
  updatedAt: at(-1_000),
  expiryTime: at(30),
  hasRefreshToken: true,
  version: 3,
  delivery: 'any',
  allowedHosts: [],
  allowedHeaders: [],
  empty: false,
  provider: { tokenUrl: 'https://id.example.org/token', clientId: 'c', authMethod: 'none', mediated: false },
  ...changes,
});
const without = (member: 'expiryTime' | 'provider'): TokenMetadata => {
  const { [member]: _gone, ...rest } = token();
  return rest;
};
const attempt = (changes: Partial<RefreshAttempt> = {}): RefreshAttempt => ({
  version: 3,
  failures: 1,
  nextAt: at(0),
  ...changes,
});

describe('a token without an attempt', () => {
  it.each([
    ['expires within the hour', token(), true],
    ['expires in exactly an hour', token({ expiryTime: at(60) }), true],
    ['expires later', token({ expiryTime: at(60.01) }), false],
    ['expired long ago', token({ expiryTime: at(-100_000) }), true],
    ['never expires', without('expiryTime'), false],
    ['has no refresh token', token({ hasRefreshToken: false }), false],
    ['has no provider', without('provider'), false],
    ['is empty', token({ empty: true }), false],
    ['needs a new authorisation', token({ reauthNeeded: true }), false],
    ['was stored a moment ago with little life left', token({ updatedAt: at(0), expiryTime: at(5) }), true],
  ])('%s', (_what, listed, due) => {
    expect(isDue(listed, undefined, NOW)).toBe(due);
  });
});

describe('a token whose last attempt failed', () => {
  it.each([
    ['its pause is over', at(0), true],
    ['its pause is not over', at(0.001), false],
    ['its pause ends in an hour', at(60), false],
    ['its pause is longer than any: the clock was set back', at(60.001), true],
  ])('%s', (_what, nextAt, due) => {
    expect(isDue(token(), attempt({ nextAt }), NOW)).toBe(due);
  });
});

describe('a token that was refreshed since and lives for a short time', () => {
  /** By the minutes since it was stored and until it ends. */
  it.each([
    ['an hour, just begun', 0, 60, false],
    ['an hour, a third of it left', 40, 20, true],
    ['an hour, a little more left', 39, 21, false],
    ['ten minutes, a third left, but refreshed less than six minutes ago', 5.9, 2.95, false],
    ['ten minutes, a third left', 6.7, 3.3, true],
    ['three minutes: not until six have passed, for the limit is ten in an hour', 5.9, -2.9, false],
    ['three minutes, after six', 6, -3, true],
    ['a day: within its last hour', 23 * 60, 60, true],
  ])('%s', (_what, since, left, due) => {
    const listed = token({ updatedAt: at(-since), expiryTime: at(left) });
    // What the former version had to wait for is over with it.
    expect(isDue(listed, attempt({ version: 2, failures: 4, nextAt: at(50) }), NOW)).toBe(due);
  });
});

const chance = { nowMs: NOW, random: 0 };

describe('a started attempt', () => {
  it('blocks further attempts for a minute', () => {
    expect(startedAttempt(3, undefined, NOW)).toEqual({ version: 3, failures: 0, nextAt: inSeconds(60) });
  });

  it('keeps the failures of its version only', () => {
    const former = { version: 3, failures: 5, nextAt: inSeconds(-1) };
    expect(startedAttempt(3, former, NOW).failures).toBe(5);
    expect(startedAttempt(4, former, NOW).failures).toBe(0);
  });
});

describe('the attempt after a result', () => {
  const begun = { version: 3, failures: 2, nextAt: inSeconds(60) };

  it.each<[RefreshResult, number, number]>([
    [{ outcome: 'refreshed' }, 0, 120],
    [{ outcome: 'accepted' }, 3, 240],
    [{ outcome: 'failed' }, 3, 240],
    [{ outcome: 'not_refreshable' }, 3, 240],
    [{ outcome: 'provider_not_configured' }, 3, 240],
    [{ outcome: 'reauth_needed' }, 3, 240],
    [{ outcome: 'webhook_unavailable' }, 3, 240],
    // No attempt: it waits for the window, or for whoever is at it.
    [{ outcome: 'limited', retryAfterSeconds: 1_234 }, 2, 1_234],
    [{ outcome: 'busy', retryAfterSeconds: 7 }, 2, 7],
    [{ outcome: 'limited', retryAfterSeconds: 1e9 }, 2, 3_600],
  ])('%j', (result, failures, seconds) => {
    expect(settledAttempt(begun, result, chance)).toEqual({
      version: 3,
      failures,
      nextAt: inSeconds(seconds),
    });
  });

  it('has a random part in its pause', () => {
    const { nextAt } = settledAttempt(begun, { outcome: 'failed' }, { nowMs: NOW, random: 0.5 });
    expect(nextAt).toBe(inSeconds(210));
  });
});

it.each([
  [1, 1],
  [2, 2],
  [6, 32],
  [7, 60],
  [5_000, 60],
])('the back-off after %i failures is up to %i minutes, in whole milliseconds', (failures, minutes) => {
  expect(backOffMs(failures, 0)).toBe(minutes * MINUTE_MS);
  expect(backOffMs(failures, 0.5)).toBe(minutes * MINUTE_MS * 0.875);
  expect(backOffMs(failures, 1 - Number.EPSILON)).toBe(minutes * MINUTE_MS * 0.75);
  expect(Number.isInteger(backOffMs(failures, 1 / 3))).toBe(true);
});
