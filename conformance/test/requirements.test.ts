import { expect, test } from 'vitest';
import { CHECKS } from '../src/registry.ts';
import { requirements } from './suite.ts';

test('check ids are unique and name their area', () => {
  const ids = CHECKS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-z]+(\.[a-z0-9]+(-[a-z0-9]+)*)$/);
});

test('requirements and checks name each other', () => {
  const byRequirement = [...requirements.values()].flatMap(({ id, checks = [] }) =>
    checks.map((check) => `${check} ${id}`),
  );
  const byCheck = CHECKS.flatMap(({ id, requirements: ids }) => ids.map((each) => `${id} ${each}`));
  expect(byRequirement.toSorted()).toEqual(byCheck.toSorted());
});
