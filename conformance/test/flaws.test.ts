import { describe, expect, test } from 'vitest';
import { FLAWS } from '../fixtures/flaws.ts';
import { CHECKS } from '../src/registry.ts';
import { notPassed, runOnMinimal } from './suite.ts';

test('a small webhook that keeps the protocol passes every check', async () => {
  expect(notPassed(await runOnMinimal())).toEqual([]);
});

test('every check has a sabotage that it must catch', () => {
  expect(Object.keys(FLAWS).toSorted()).toEqual(CHECKS.map(({ id }) => id).toSorted());
});

describe('each sabotage fails exactly its checks:', () => {
  test.each(Object.entries(FLAWS))('%s', async (id, { changed, alsoFails = [] }) => {
    expect(notPassed(await runOnMinimal(changed)).toSorted()).toEqual([id, ...alsoFails].toSorted());
  });
});
