import { expect, test } from 'vitest';
import { secondsFresh } from './freshness.ts';

test.each([
  [{}, 300],
  [{ 'cache-control': '' }, 300],
  [{ 'cache-control': 'public' }, 300],
  [{ 'cache-control': 'max-age=60' }, 60],
  [{ 'cache-control': 'public, Max-Age=60, must-revalidate' }, 60],
  [{ 'cache-control': 'max-age="60"' }, 60],
  [{ 'cache-control': 'max-age=0' }, 0],
  [{ 'cache-control': 'max-age=60', age: '20' }, 40],
  [{ 'cache-control': 'max-age=60', age: '90' }, 0],
  [{ 'cache-control': 'max-age=60', age: 'x' }, 60],
  [{ 'cache-control': 'no-store' }, 0],
  [{ 'cache-control': 'max-age=60, no-cache' }, 0],
  [{ 'cache-control': 'no-cache="x", max-age=60' }, 0],
  [{ 'cache-control': 'max-age=-1' }, 300],
  [{ 'cache-control': 'max-age=1e9' }, 300],
  [{ 'cache-control': 's-maxage=60' }, 300],
  [{ 'cache-control': 'max-age=86400' }, 86_400],
])('%j is fresh for %i seconds', (headers, seconds) => {
  expect(secondsFresh(headers, 300)).toBe(seconds);
});
