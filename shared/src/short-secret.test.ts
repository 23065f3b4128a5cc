import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { basicSecret, isShortSecret } from './short-secret.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;
const LOWER = 'abcdefghijklmnopqrstuvwxyz';

/** `length` characters of an alphabet, each in turn. */
const cycle = (alphabet: string, length: number): string =>
  alphabet.repeat(Math.ceil(length / alphabet.length)).slice(0, length);

describe('a secret is short if it can have less than 80 bits', () => {
  it.each([
    ['a one-time code', '482913'],
    ['a PIN', '0000'],
    ['15 characters of any kind', 'aB3$eF6&iJ9(mN2'],
    ['24 digits', cycle(DIGITS, 24)],
    ['19 hexadecimal digits', cycle(HEX, 19)],
    ['19 hexadecimal digits in upper case', cycle(HEX, 19).toUpperCase()],
    ['17 letters of one case', cycle(LOWER, 17)],
    ['one character, however often', 'a'.repeat(10_000)],
    ['20 times one character', 'a'.repeat(20)],
    ['79 of two characters', cycle('ab', 79)],
    ['28 of seven characters', cycle('abcdefg', 28)],
    ['a short password in Basic credentials', base64('administrator@example.org:hunter2')],
    ['a short user name without a password in Basic credentials', base64('administrator:')],
    ['16 characters of base64 that are a name and a password', 'YWRtaW46YWRtaW4='],
  ])('%s is', (_what, text) => {
    expect(isShortSecret(text)).toBe(true);
  });

  it.each([
    ['16 characters of several kinds', 'aB3$eF6&iJ9(mN2*'],
    ['25 digits', cycle(DIGITS, 25)],
    ['20 hexadecimal digits', cycle(HEX, 20)],
    ['18 letters of one case', cycle(LOWER, 18)],
    ['80 of two characters', cycle('ab', 80)],
    ['29 of seven characters', cycle('abcdefg', 29)],
    ['a UUID', '3f2b8c1e-9d47-4a60-8e15-7c0b9f2d6a31'],
    ['a long password in Basic credentials', base64('admin:correct-horse-battery')],
    ['an API key as the user name of Basic credentials', base64('sk_live_51H8aBcDeFgHiJ:')],
    ['an API key as the user name beside a password of one character', base64('aB3xeF6yiJ9zmN2w:X')],
    ['nothing', ''],
    ['64 KiB', cycle('0a', 64 * 1024)],
  ])('%s is not', (_what, text) => {
    expect(isShortSecret(text)).toBe(false);
  });

  it('random tokens of 128 bits are not short', () => {
    for (let at = 0; at < 2_000; at += 1) {
      const bytes = createHash('sha256').update(String(at)).digest().subarray(0, 16);
      for (const encoding of ['base64', 'base64url', 'hex'] as const)
        expect([at, encoding, isShortSecret(bytes.toString(encoding))]).toEqual([at, encoding, false]);
    }
  });
});

describe('the password of Basic credentials', () => {
  it.each([
    [base64('user:password'), 'password'],
    [base64('user:password').replaceAll('=', ''), 'password'],
    [base64('user:pass:word'), 'pass:word'],
    [base64('apikey:'), 'apikey'],
    [base64('apikey:x'), 'apikey'],
    [base64(':secret'), 'secret'],
  ])('%s has %s', (text, secret) => {
    expect(basicSecret(text)).toBe(secret);
  });

  it.each(['', 'a', 'ab', 'user:password', base64('no colon'), base64('\u0000a:b'), 'abcde', 'ab=c', '===='])(
    '%j has none',
    (text) => {
      expect(basicSecret(text)).toBeUndefined();
    },
  );
});
