import { describe, expect, test } from 'vitest';
import { type HiddenLine, NOTHING_TYPED, typedOn } from './prompt-secret.ts';

/** What is there after these chunks came from the terminal. */
function after(...chunks: readonly string[]): Pick<HiddenLine, 'text' | 'end'> {
  let line = NOTHING_TYPED;
  for (const chunk of chunks) if (line.end === undefined) line = typedOn(line, chunk);
  return { text: line.text, ...(line.end !== undefined && { end: line.end }) };
}
const BEGIN = '\u001b[200~';
const END = '\u001b[201~';

describe('a hidden line', () => {
  test.each([
    ['abc\r', 'abc'],
    ['abc\n', 'abc'],
    ['ab\u007f\u007fcd\r', 'cd'],
    ['a😀\u007fb\r', 'ab'],
    ['\u007fa\r', 'a'],
    ['abc\u0015d\r', 'd'],
    ['abc\u0004', 'abc'],
    ['a\u001b[D\u001b[1;5Cb\u001bOPc\r', 'abc'],
    ['a\u0000\u0001\u001a\u009bb\r', 'ab'],
    ['a\u001b\r', 'a'],
    ['a\tb\r', 'a\tb'],
    ['pass word’s ü\r', 'pass word’s ü'],
  ])('%j is %j', (sent, text) => {
    expect(after(sent)).toEqual({ text, end: 'entered' });
    // However the terminal cuts it into pieces.
    expect(after(...sent)).toEqual({ text, end: 'entered' });
  });

  test.each([
    '\u0003',
    'abc\u0003',
    `${BEGIN}abc\u0003`,
    '\u0004',
    'a\u007f\u0004',
    'a\u001b\u0003',
    '\u001b[\u0003',
    '\u001b[1;\u0003',
    '\u001b[ 1\u0003',
    '\u001bO\u0003',
    '\u001b\u001b\u0003',
  ])('%j gives up', (sent) => {
    expect(after(sent)).toEqual({ text: '', end: 'interrupted' });
    expect(after(...sent)).toEqual({ text: '', end: 'interrupted' });
  });

  test.each([
    [`${BEGIN}-----BEGIN\rabc\r-----END\r${END}\r`, '-----BEGIN\nabc\n-----END'],
    [`${BEGIN}a\r\nb${END}\r`, 'a\nb'],
    [`x${BEGIN}a\nb${END}y\r`, 'xa\nby'],
    [`${BEGIN}a\u007fb\u0004${END}\r`, 'a\u007fb\u0004'],
    [`${BEGIN}a\u001b[31mb${END}\r`, 'a\u001b[31mb'],
  ])('%j that was pasted is %j', (sent, text) => {
    expect(after(sent)).toEqual({ text, end: 'entered' });
  });

  test('lines that came at once, and were not said to be pasted, are none', () => {
    expect(after('a\rb\r')).toEqual({ text: '', end: 'several lines' });
    expect(after('a\r\nb')).toEqual({ text: '', end: 'several lines' });
  });
});
