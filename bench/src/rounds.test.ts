import { expect, test } from 'vitest';
import { quantile } from './load.ts';
import { median } from './rounds.ts';
import { TARGETS, verdict } from './targets.ts';

test('the median is the middle value, or the mean of the two middle values', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
});

test('a quantile is a measured value', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index);
  expect([quantile(hundred, 0.5), quantile(hundred, 0.99), quantile([], 0.5)]).toEqual([50, 99, Number.NaN]);
});

test('a ratio must be at least its target, a time at most', () => {
  expect([0.2, 0.3, 0.4].map((value) => verdict(value, TARGETS.credentials))).toEqual([
    'missed',
    'must',
    'goal',
  ]);
  expect([3000, 1000, 800].map((value) => verdict(value, TARGETS.start))).toEqual(['missed', 'must', 'goal']);
});
