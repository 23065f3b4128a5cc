import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Invocation } from '../../invocation.ts';
import { printValue } from './get.ts';

/** What is printed for a value, on a terminal or into a pipe. */
function printed(value: string, out: boolean): { readonly out: string; readonly err: string } {
  const said = { out: '', err: '' };
  const invocation: Invocation = {
    flags: { format: 'table', color: false },
    terminal: {
      out: (text) => void (said.out += Buffer.from(text).toString()),
      err: (text) => void (said.err += text),
      stdin: Readable.from([]),
      interactive: { in: false, out, err: false },
      columns: undefined,
    },
    color: false,
    env: {},
    signal: new AbortController().signal,
  };
  printValue(invocation, value);
  return said;
}

describe('a value', () => {
  test.each(['s3cret', 'two\nlines\n', '\u001b[31mred\u0000', '\u202ereversed', ''])(
    'is printed as it is into a pipe: %j',
    (value) => expect(printed(value, false)).toEqual({ out: value, err: '' }),
  );

  test('ends with one line break on a terminal', () => {
    expect(printed('s3cret', true)).toEqual({ out: 's3cret\n', err: '' });
    expect(printed('a\tb\r\nc\n', true)).toEqual({ out: 'a\tb\nc\n', err: '' });
    expect(printed('emoji 👩‍🔧', true)).toEqual({ out: 'emoji 👩‍🔧\n', err: '' });
  });

  test.each([
    ['\u001b]0;title\u0007', '\\u{1b}]0;title\\u{7}\n'],
    ['a\u0008b', 'a\\u{8}b\n'],
    ['\u009b2J', '\\u{9b}2J\n'],
    ['\u202etxt', '\\u{202e}txt\n'],
    ['a\rb', 'a\\u{d}b\n'],
  ])('moves no cursor on a terminal, and that is said: %j', (value, shown) => {
    const { out, err } = printed(value, true);
    expect(out).toBe(shown);
    expect(err).toMatch(/a terminal does not show/);
  });
});
