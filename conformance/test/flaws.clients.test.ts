import { describe, expect, test } from 'vitest';
import { FLAWS } from '../fixtures/flaws.ts';
import { CHECKS } from '../src/registry.ts';
import { ON_BOUND, SABOTAGES, checkOf, checksFor } from './sabotages.ts';
import { notPassed, runOnMinimal } from './suite.ts';

test('a small conforming webhook passes every check', async () => {
  expect(notPassed(await runOnMinimal({}, ON_BOUND))).toEqual([]);
});

test('every check has a sabotage that it must catch', () => {
  const caught = new Set(Object.keys(FLAWS).map(checkOf));
  expect([...caught].toSorted()).toEqual(CHECKS.map(({ id }) => id).toSorted());
});

// That they fail no other check takes the whole suite for each of them: flaws.hard.test.ts.
describe.concurrent('each sabotage fails its checks:', () => {
  test.each(SABOTAGES)('$name', async ({ changed, fails }) => {
    const failed = notPassed(await runOnMinimal(changed, checksFor(fails)));
    expect(failed.toSorted()).toEqual(fails);
  });
});
