import { formatTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import { describe, expect, it } from 'vitest';
import type { RefreshAttempt } from '../core/refresh-attempt.ts';
import { isDue } from './due-tokens.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const MINUTE_MS = 60_000;
const at = (minutes: number): string => formatTime(NOW + minutes * MINUTE_MS);

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

describe('a token that nobody tried to refresh', () => {
  it.each([
    ['ends within the hour', token(), true],
    ['ends in an hour, to the minute', token({ expiryTime: at(60) }), true],
    ['ends later', token({ expiryTime: at(60.01) }), false],
    ['has ended long ago', token({ expiryTime: at(-100_000) }), true],
    ['has no end', without('expiryTime'), false],
    ['has no refresh token', token({ hasRefreshToken: false }), false],
    ['has no provider', without('provider'), false],
    ['is empty', token({ empty: true }), false],
    ['needs its owner', token({ reauthNeeded: true }), false],
    ['was stored a moment ago with little life left', token({ updatedAt: at(0), expiryTime: at(5) }), true],
  ])('%s', (_what, listed, due) => {
    expect(isDue(listed, undefined, NOW)).toBe(due);
  });
});

describe('a token of which the last attempt came to nothing', () => {
  it.each([
    ['its pause is over', at(0), true],
    ['its pause is not over', at(0.001), false],
    ['its pause ends in an hour', at(60), false],
    ['its pause is longer than any: the clock was set back', at(60.001), true],
  ])('%s', (_what, nextAt, due) => {
    expect(isDue(token(), attempt({ nextAt }), NOW)).toBe(due);
  });
});

describe('a token that was refreshed since, whose life is short', () => {
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
