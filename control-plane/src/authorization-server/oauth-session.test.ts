import { ManualClock, formatTime } from '@svault/shared';
import { expect, test } from 'vitest';
import { issuedTokens, storedAccessToken, oauthTokens } from './oauth-session.ts';

const ISSUED = Date.parse('2026-11-20T12:00:00Z');
const SESSION = { expiresAt: formatTime(ISSUED + 90 * 24 * 3_600_000) };

const secondsAfter = (elapsedMs: number): number => {
  const pair = oauthTokens.issue();
  const access = storedAccessToken(pair, SESSION, formatTime(ISSUED));
  return issuedTokens(pair, access, new ManualClock(ISSUED + elapsedMs)).expiresInSeconds;
};

test('a client is told the whole hour, however many milliseconds its tokens took to make', () => {
  expect(secondsAfter(0)).toBe(3_600);
  expect(secondsAfter(1)).toBe(3_600);
});

test('what is given again, or too late, is told what is left', () => {
  expect(secondsAfter(9_000)).toBe(3_591);
  expect(secondsAfter(3_600_001)).toBe(0);
});
