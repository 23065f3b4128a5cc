import { expect, test } from 'vitest';
import { endsSoon, sessionOf } from './session-renewal.ts';

const NOW = Date.parse('2026-11-20T12:00:00.000Z');
const grant = {
  accessToken: 'a',
  refreshToken: 'r',
  expiresInSeconds: 900,
  user: { email: 'o@example.org' },
};

test('a session is renewed half a minute before its end, so that none ends on the way', () => {
  const session = sessionOf(grant, NOW);
  expect(session).toEqual({
    kind: 'session',
    accessToken: 'a',
    accessExpiresAt: '2026-11-20T12:15:00.000Z',
    refreshToken: 'r',
  });
  const at = (seconds: number): boolean => endsSoon(session, NOW + seconds * 1_000);
  expect([0, 869, 870, 900, 100_000].map(at)).toEqual([false, false, true, true, true]);
});

test('one whose end is no time is renewed', () => {
  expect(endsSoon({ ...sessionOf(grant, NOW), accessExpiresAt: 'tomorrow' }, NOW)).toBe(true);
});

test('none is believed to hold for longer than a day', () => {
  const session = sessionOf({ ...grant, expiresInSeconds: Number.MAX_VALUE }, NOW);
  expect(session.accessExpiresAt).toBe('2026-11-21T12:00:00.000Z');
});
