import { describe, expect, test } from 'vitest';
import { FLAWS } from '../fixtures/flaws.ts';
import { CHECKS } from '../src/registry.ts';
import { notPassed, runOnMinimal } from './suite.ts';

/** The checks that observe the binding itself have a run of their own (binding.test.ts). */
const ON_BOUND = CHECKS.filter((check) => 'run' in check);
/** A check may have several sabotages: `check.id · which`. */
const checkOf = (name: string): string => name.split(' · ', 1)[0] ?? '';

test('a small webhook that keeps the protocol passes every check', async () => {
  expect(notPassed(await runOnMinimal({}, ON_BOUND))).toEqual([]);
});

test('every check has a sabotage that it must catch', () => {
  const caught = new Set(Object.keys(FLAWS).map(checkOf));
  expect([...caught].toSorted()).toEqual(CHECKS.map(({ id }) => id).toSorted());
});

describe('each sabotage fails exactly its checks:', () => {
  test.each(Object.entries(FLAWS).filter(([name]) => ON_BOUND.some(({ id }) => id === checkOf(name))))(
    '%s',
    async (name, { changed, alsoFails = [] }) => {
      expect(notPassed(await runOnMinimal(changed, ON_BOUND)).toSorted()).toEqual(
        [checkOf(name), ...alsoFails].filter((id) => ON_BOUND.some((check) => check.id === id)).toSorted(),
      );
    },
  );
});
