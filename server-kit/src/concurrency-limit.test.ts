import { expect, it } from 'vitest';
import { createConcurrencyLimit } from './concurrency-limit.ts';

it('A concurrency limit gives each key its places, and each released place once', () => {
  const limit = createConcurrencyLimit(2);
  const [first, second] = [limit.take('a'), limit.take('a')];
  expect([first, second]).not.toContain(undefined);
  expect(limit.take('a')).toBeUndefined();
  expect(limit.take('b')).toBeDefined();
  first?.();
  first?.();
  const third = limit.take('a');
  expect(third).toBeDefined();
  expect(limit.take('a')).toBeUndefined();
  second?.();
  third?.();
  for (const _place of [1, 2]) expect(limit.take('a')).toBeDefined();
  expect(limit.take('a')).toBeUndefined();
});
