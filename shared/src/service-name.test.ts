import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isServiceName } from './service-name.ts';

describe('a service name', () => {
  it.each([
    'github',
    'a',
    'a b',
    'GitHub (work)',
    '...',
    '.a',
    'a..b',
    '~',
    'a\\b',
    '%2f',
    'schlüssel',
    '日本語',
    '🔑',
    '#?&',
    '__proto__',
    'a'.repeat(128),
    '🔑'.repeat(63),
    'é'.repeat(127),
  ])('may be %j', (name) => {
    expect(isServiceName(name)).toBe(true);
  });

  it.each([
    ['empty', ''],
    ['a slash', 'a/b'],
    ['a slash alone', '/'],
    ['this folder', '.'],
    ['the folder above', '..'],
    ['NUL', 'a\0b'],
    ['a line feed', 'a\nb'],
    ['a tab', 'a\tb'],
    ['DEL', 'a\u007f'],
    ['a C1 control', 'a\u0085b'],
    ['a space before', ' a'],
    ['a space after', 'a '],
    ['a no-break space after', 'a\u00a0'],
    ['an ideographic space before', '\u3000a'],
    ['only a space', ' '],
    ['not NFC', 'schlu\u0308ssel'],
    ['a singleton that NFC replaces', '\u212b'],
    ['a lone surrogate', 'a\ud800'],
    ['129 characters', 'a'.repeat(129)],
    ['256 bytes in 128 characters', 'é'.repeat(128)],
    ['256 bytes', '🔑'.repeat(64)],
    ['10 kB', 'a'.repeat(10_000)],
  ])('is rejected: %s', (_case, name) => {
    expect(isServiceName(name)).toBe(false);
  });

  it('follows every clause of its rule, for generated text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 140 }),
      fc.string({ unit: 'grapheme', maxLength: 140 }),
    );
    fc.assert(
      fc.property(text, (name) => {
        const holds =
          [...name].length >= 1 &&
          [...name].length <= 128 &&
          Buffer.byteLength(name) <= 255 &&
          name.normalize('NFC') === name &&
          name.isWellFormed() &&
          !/[/\p{Cc}]/u.test(name) &&
          !/^\p{White_Space}|\p{White_Space}$/u.test(name) &&
          name !== '.' &&
          name !== '..';
        expect(isServiceName(name)).toBe(holds);
      }),
      { numRuns: 1000 },
    );
  });
});
