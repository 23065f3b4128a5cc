import { expect, test } from 'vitest';
import { copyable, durationText, hiddenField, retryText } from './page-parts.ts';

test.each([
  [0, '1 second'],
  [1, '1 second'],
  [119, '119 seconds'],
  [120, '2 minutes'],
  [121, '3 minutes'],
  [7_199, '120 minutes'],
  [7_200, '2 hours'],
  [90_000, '25 hours'],
])('%d seconds are written as %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

test('only an error with a number of seconds says when to try again', () => {
  expect(retryText({ retryAfter: 900 })).toBe(' Try again in 15 minutes.');
  for (const details of [undefined, {}, { retryAfter: '900' }]) expect(retryText(details)).toBe('');
});

test('what a part of a page is given is text', () => {
  const evil = `"'><script>`;
  for (const part of [hiddenField(evil, evil), copyable(evil)]) expect(String(part)).not.toContain('<script');
});
