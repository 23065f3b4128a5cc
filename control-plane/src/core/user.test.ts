import { describe, expect, it } from 'vitest';
import { EMAIL_FORM, normalizeEmail } from './user.ts';

describe('an e-mail address', () => {
  it('is compared without the case of ASCII letters', () => {
    expect(normalizeEmail('Owner@Example.ORG')).toBe('owner@example.org');
  });

  it.each(['\u212Aim@example.org', 'k\u0131m@example.org', '\uFF2Bim@example.org'])(
    '%j does not become kim@example.org',
    (other) => {
      expect(normalizeEmail(other)).not.toBe('kim@example.org');
    },
  );

  it.each(['a@b', 'first.last+tag@sub.example.org', 'ö@example.org'])('can be %j', (text) => {
    expect(EMAIL_FORM.test(text)).toBe(true);
  });

  it.each([
    '',
    'a',
    '@',
    'a@',
    '@b',
    'a@b@c',
    'a b@c',
    'a@b\n',
    'a\u200B@b',
    'a@b\u0000',
    `${'a'.repeat(65)}@b`,
  ])('cannot be %j', (text) => {
    expect(EMAIL_FORM.test(text)).toBe(false);
  });
});
