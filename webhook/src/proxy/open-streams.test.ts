import { expect, it } from 'vitest';
import { createOpenStreams } from './open-streams.ts';

it('gives each proxy so many places, and takes them back', () => {
  const streams = createOpenStreams(2);
  const [first, second] = [streams.take('a'), streams.take('a')];
  expect([first, second]).not.toContain(undefined);
  expect(streams.take('a')).toBeUndefined();
  expect(streams.take('b')).toBeDefined();
  first?.();
  const third = streams.take('a');
  expect(third).toBeDefined();
  expect(streams.take('a')).toBeUndefined();
  second?.();
  third?.();
  for (const _place of [1, 2]) expect(streams.take('a')).toBeDefined();
  expect(streams.take('a')).toBeUndefined();
});
