import { readFileSync } from 'node:fs';
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

test('requirements are sentences of the protocol’s page, word by word', () => {
  const page = readFileSync(new URL('../../shared/PROTOCOL.md', import.meta.url), 'utf8');
  const sentences = new Map(
    [...page.matchAll(/^- \*\*([A-Z]{3}-\d\d)\*\* (.+)$/gm)].map(([, id, text]) => [id, text]),
  );
  for (const { id, level, sentence } of requirements.values()) {
    expect([id, sentence]).toEqual([id, sentences.get(id)]);
    expect([id, /\bMUST\b/.test(sentence) ? 'MUST' : 'SHOULD']).toEqual([id, level]);
  }
});
