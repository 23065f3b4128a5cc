import { describe, expect, it } from 'vitest';
import { base32Bytes, normalBase32 } from './base32.ts';

const bytesOf = (text: string): string =>
  Buffer.from(base32Bytes(normalBase32(text) ?? '')).toString('latin1');

describe('base32', () => {
  // RFC 4648 section 10.
  it.each([
    ['MY======', 'f'],
    ['MZXQ====', 'fo'],
    ['MZXW6===', 'foo'],
    ['MZXW6YQ=', 'foob'],
    ['MZXW6YTB', 'fooba'],
    ['MZXW6YTBOI======', 'foobar'],
  ])('decodes %s', (text, bytes) => {
    expect(bytesOf(text)).toBe(bytes);
  });

  it.each(['mzxw6ytboi', 'MZXW 6YTB OI', 'mzxw-6ytb-oi', ' MZXW6YTBOI======\n', 'MZXW\u00a06YTB\tOI=='])(
    'accepts a seed as people copy it: %j',
    (text) => {
      expect(normalBase32(text)).toBe('MZXW6YTBOI');
    },
  );

  it('drops the leftover bits of a seed that was generated as characters', () => {
    expect(bytesOf('MZ')).toBe(bytesOf('MY'));
  });

  it.each([
    '',
    '   ',
    '=',
    'A',
    'ABC',
    'ABCDEF',
    'MZXW0',
    'MZXW1',
    'MZXW8',
    'MZ=XQ',
    'MZXW6_',
    'ſſ',
    'https://a',
  ])('rejects %j', (text) => {
    expect(normalBase32(text)).toBeUndefined();
  });

  it('decodes no other text', () => {
    expect(() => base32Bytes('a!')).toThrow(RangeError);
  });
});
