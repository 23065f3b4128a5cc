import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyText, lookalikesIn, visibleLine, visibleText } from './untrusted-text.ts';

describe('a text of somebody else’s', () => {
  it.each([
    ['\u202Egnp.exe', '\\u{202e}gnp.exe'],
    ['a\u2066b\u2069', 'a\\u{2066}b\\u{2069}'],
    ['pay\u200Bpal', 'pay\\u{200b}pal'],
    ['a\u00A0b', 'a\\u{a0}b'],
    ['a\0b\u001B[31m\tc', 'a\\u{0}b\\u{1b}[31m\\u{9}c'],
    ['a\u2028b\u2029c\rd', 'a\\u{2028}b\\u{2029}c\\u{d}d'],
    ['a\r\nb\nc', 'a\nb\nc'],
    ['\u{E0041}\u3164\uFE0F\uD800', '\\u{e0041}\\u{3164}\\u{fe0f}\\u{d800}'],
    ['e\u0301\u0302\u0303\u0304', 'e\u0301\u0302\\u{303}\\u{304}'],
    ['Zoë fährt nach 東京', 'Zoë fährt nach 東京'],
  ])('shows what nobody would see: %j', (text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });

  it('has no character that is unseen or turns the direction, whatever it is', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(fc.property(text, (any) => !/(?!\n)[\p{Cc}\p{Cf}\p{Bidi_Control}]/u.test(visibleText(any))));
  });

  it('is one line where it has to be', () => {
    expect(visibleLine('a\r\nb\nc')).toBe('a\\nb\\nc');
  });
});

describe('a name', () => {
  it('of ASCII has nothing that looks like something else', () => {
    expect(lookalikesIn('github.com')).toBeUndefined();
  });

  it('has its letters of other scripts pointed out, each once and eight at most', () => {
    expect(lookalikesIn('gіthub-аа')).toEqual({
      named: [
        { character: 'і', code: 'U+0456, Cyrillic' },
        { character: 'а', code: 'U+0430, Cyrillic' },
      ],
      more: 0,
    });
    expect(lookalikesIn('абвгдежзик')).toMatchObject({ more: 2 });
    expect(lookalikesIn('a\u202Eb')).toEqual({ named: [{ character: '\u202E', code: 'U+202E' }], more: 0 });
  });
});

describe('the text of a body', () => {
  const textOf = (body: string | Uint8Array, ...fields: readonly (readonly [string, string])[]) =>
    bodyText(fields, Buffer.from(body));

  it('is its UTF-8, JSON in lines where that says the same', () => {
    expect(textOf('{"a":1}')).toBe('{\n  "a": 1\n}');
    for (const text of ['{"a": 1}', '{"a":1,"a":1}', '{"a":1e400}', 'a=1', ''])
      expect(textOf(text)).toBe(text);
    expect(textOf(Uint8Array.of(0xff, 0xfe))).toBeUndefined();
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'text/plain; charset=us-ascii; format=flowed',
  ])('is shown where its header says %s', (type) => {
    expect(textOf('a', ['content-type', type], ['content-encoding', 'identity'])).toBe('a');
  });

  it.each([
    ['content-type', 'application/json; charset=utf-16'],
    ['content-type', 'text/plain; charset="UTF-7"'],
    ['content-type', "text/plain; charset*=utf-8''utf-16"],
    ['content-type', 'text/plain; charset = utf-8'],
    ['content-type', 'text/plain; charset=utf-8; charset=utf-16'],
    ['content-type', 'text/plain; charset=utf-8x'],
    ['content-encoding', 'gzip'],
  ])('is not shown where its header says another encoding, by %s: %s', (name, value) => {
    expect(textOf('a', [name, value])).toBeUndefined();
  });
});
