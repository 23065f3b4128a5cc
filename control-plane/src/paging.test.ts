import { expect, test } from 'vitest';
import { toBase64url, utf8 } from '@svault/shared';
import { pageOf, readCursor } from './paging.ts';

const keyOf = (name: string): string[] => [name, 'id'];

test('a cursor appears exactly when there is more, and leads to the last item given', () => {
  expect(pageOf(['a', 'b'], 2, keyOf)).toEqual({ items: ['a', 'b'] });
  expect(pageOf([], 2, keyOf)).toEqual({ items: [] });
  const page = pageOf(['a', 'ü'.repeat(3), 'c'], 2, keyOf);
  expect(page.items).toEqual(['a', 'üüü']);
  expect(readCursor(page.nextCursor ?? '', 2)).toEqual(['üüü', 'id']);
});

test.each(['', '%', 'e30', '{}', '["a","b"]', '["a",1]', '["a"]', 'null', '\u00ff'])(
  '%j is no cursor',
  (text) => {
    expect(readCursor(text, 2)).toBeUndefined();
    if (text !== '["a","b"]') expect(readCursor(toBase64url(utf8(text)), 2)).toBeUndefined();
  },
);
