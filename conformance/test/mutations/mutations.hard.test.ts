import { expect, test } from 'vitest';
import { readEquivalents, readSample } from './lists.ts';
import { runMutations } from './run-mutations.ts';

const HOURS_MS = 3_600_000;

test(
  'every mutation of the minimal webhook is found, but for those that break no MUST',
  async () => {
    const verdicts = await runMutations();
    const all = verdicts.map(({ id }) => id);
    const left = verdicts.filter(({ foundBy }) => foundBy === undefined).map(({ id }) => id);
    expect(all.length).toBeGreaterThanOrEqual(600);
    expect(left.toSorted()).toEqual([...readEquivalents().keys()].toSorted());
    expect(all).toEqual(expect.arrayContaining([...readSample().keys()]));
  },
  4 * HOURS_MS,
);
