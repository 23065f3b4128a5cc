import { expect, test } from 'vitest';
import { toBase64url, utf8 } from '@svault/shared';
import { type PageRequest, pageOf, pagesOf, readCursor } from './paging.ts';

const keyOf = (name: string): string[] => [name, 'id'];

test('pageOf gives a cursor exactly where more rows are left, with the sort key of the last item', () => {
  expect(pageOf(['a', 'b'], 2, keyOf)).toEqual({ items: ['a', 'b'] });
  expect(pageOf([], 2, keyOf)).toEqual({ items: [] });
  const page = pageOf(['a', 'ü'.repeat(3), 'c'], 2, keyOf);
  expect(page.items).toEqual(['a', 'üüü']);
  expect(readCursor(page.nextCursor ?? '', 2)).toEqual(['üüü', 'id']);
});

test.each(['', '%', 'e30', '{}', '["a","b"]', '["a",1]', '["a"]', 'null', '\u00ff', '["a","\\u0000"]'])(
  'readCursor rejects %j',
  (text) => {
    expect(readCursor(text, 2)).toBeUndefined();
    if (text !== '["a","b"]') expect(readCursor(toBase64url(utf8(text)), 2)).toBeUndefined();
  },
);

test('pagesOf reads each page when it is needed, up to the last one', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  let reads = 0;
  const list = async ({ limit, after }: PageRequest) => {
    reads++;
    const rest = names.filter((name) => after === undefined || name > (after[0] ?? ''));
    return pageOf(rest.slice(0, limit + 1), limit, (name) => [name]);
  };
  const pages = pagesOf(list, { limit: 2, parts: 1 });
  expect([(await pages.next()).value, reads]).toEqual([['a', 'b'], 1]);
  const rest: unknown[] = [];
  for await (const page of pages) rest.push(page);
  expect([rest, reads]).toEqual([[['c', 'd'], ['e']], 3]);
});
