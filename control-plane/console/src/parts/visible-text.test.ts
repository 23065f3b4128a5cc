import { expect, test } from 'vitest';
import { visibleLine, visibleText } from './visible-text.ts';

test.each([
  ['Restore the orders table', 'Restore the orders table'],
  ['Größe, 大きさ, حجم', 'Größe, 大きさ, حجم'],
  ['\u202Egnp.exe', '\\u{202e}gnp.exe'],
  ['pay\u200Bpal\u00A0\u2066', 'pay\\u{200b}pal\\u{a0}\\u{2066}'],
  ['a\0\u001B[31m\tb', 'a\\u{0}\\u{1b}[31m\\u{9}b'],
  ['\u{E0041}\u3164\uFE0F\uD800', '\\u{e0041}\\u{3164}\\u{fe0f}\\u{d800}'],
  ['e\u0301\u0302\u0303', 'e\u0301\u0302\\u{303}'],
  ['a\r\nb', 'a\nb'],
])('%j is shown as %j', (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

test('a name stays on its line', () => {
  expect(visibleLine('ci\nstatus: approved')).toBe('ci\\nstatus: approved');
});
