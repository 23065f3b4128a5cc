import { describe, expect, it } from 'vitest';
import { changeOf, comparison } from './compare.ts';
import { type Row, table } from './report.ts';
import { rowOf } from './rounds.ts';
import { type Target, TARGETS } from './targets.ts';

const ratio = (...rounds: number[]): Row => rowOf('a rate', TARGETS.callRate, rounds);
const time = (...rounds: number[]): Row => rowOf('a time', TARGETS.start, rounds);
const single = (target: Target, value: number): Row => ({ name: 'once', value, target });

describe('a row of two runs', () => {
  it('has changed only where no round of one run reaches a round of the other', () => {
    expect(changeOf(ratio(0.3, 0.4, 0.5), ratio(0.5, 0.6, 0.7))).toBe('within the spread');
    expect(changeOf(ratio(0.1, 0.9), ratio(0.4, 0.5))).toBe('within the spread');
    expect(changeOf(ratio(0.3, 0.4, 0.5), ratio(0.51, 0.6, 0.7))).toBe('better');
    expect(changeOf(ratio(0.3, 0.4, 0.5), ratio(0.1, 0.2, 0.29))).toBe('worse');
  });

  it('is better where a rate grows and where a time shrinks', () => {
    expect(changeOf(time(10, 11), time(8, 9))).toBe('better');
    expect(changeOf(time(10, 11), time(12, 13))).toBe('worse');
  });

  it('is not judged where a run has it once, or not at all', () => {
    expect(changeOf(single(TARGETS.start, 10), single(TARGETS.start, 99))).toBe('no spread known');
    expect(changeOf(ratio(0.3), ratio(0.4, 0.5))).toBe('no spread known');
    expect(changeOf(undefined, ratio(0.4, 0.5))).toBe('new');
  });
});

it('the comparison shows each row of the later run with median and spread of both', () => {
  const before = [ratio(0.3, 0.4, 0.5), single(TARGETS.start, 7)];
  expect(comparison(before, [ratio(0.6, 0.8, 0.7), time(1, 3)]).split('\n')).toEqual([
    'what    before                  now                                 change',
    'a rate  0.400 (0.300 to 0.500)  0.700 (0.600 to 0.800)  1.75 times  better',
    'a time                          2.00 ms (1.00 to 3.00)              new',
  ]);
});

it('the table shows the median of the rounds, their spread and what is reached', () => {
  expect(table([rowOf('a rate', TARGETS.callRate, [0.7, 0.9, 0.5], 'a note')]).split('\n')[1]).toBe(
    'a rate  0.700 (0.500 to 0.900)  0.600  0.850  must     a note',
  );
});
