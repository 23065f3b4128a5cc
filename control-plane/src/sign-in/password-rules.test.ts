import { expect, it } from 'vitest';
import { normalizePassword, problemOfPassword } from './password-rules.ts';

const EMAIL = 'owner@example.org';

it.each(['twelve chars', 'x'.repeat(11) + 'y', 'é'.repeat(64) + '🔑'.repeat(64), ' spaces count too '])(
  'takes %j',
  (text) => {
    expect(problemOfPassword(normalizePassword(text), EMAIL)).toBeUndefined();
  },
);

it.each([
  '',
  'eleven char',
  '🔑'.repeat(6),
  'x'.repeat(128) + 'y',
  'aaaaaaaaaaaaaaa',
  EMAIL,
  'Owner@EXAMPLE.org',
])('refuses %j', (text) => {
  expect(problemOfPassword(normalizePassword(text), EMAIL)).toMatch(/^must /);
});

it('takes two spellings of an accent for the same', () => {
  expect(normalizePassword('cafe\u0301')).toBe(normalizePassword('caf\u00E9'));
});
