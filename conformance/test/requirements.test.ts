import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CHECKS } from '../src/registry.ts';
import { requirements } from './suite.ts';

test('check ids are unique and name their area', () => {
  const ids = CHECKS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-z]+(-[a-z]+)*\.[a-z0-9]+(-[a-z0-9]+)*$/);
});

test('requirements and checks refer to each other', () => {
  const byRequirement = [...requirements.values()].flatMap(({ id, checks = [] }) =>
    checks.map((check) => `${check} ${id}`),
  );
  const byCheck = CHECKS.flatMap(({ id, requirements: ids }) => ids.map((each) => `${id} ${each}`));
  expect(byRequirement.toSorted()).toEqual(byCheck.toSorted());
});

test('every requirement of PROTOCOL.md has its row, word by word (run `trace.ts`)', () => {
  const page = readFileSync(new URL('../../shared/PROTOCOL.md', import.meta.url), 'utf8');
  const sentences = [...page.matchAll(/^- \*\*([A-Z]{3}-\d\d)\*\* (.*\b(?:MUST|SHOULD)\b.*)$/gm)];
  expect([...requirements.values()].map(({ id, sentence }) => [id, sentence])).toEqual(
    sentences.map(([, id, sentence]) => [id, sentence]),
  );
  for (const { level, sentence } of requirements.values())
    expect([sentence, level]).toEqual([sentence, /\bMUST\b/.test(sentence) ? 'MUST' : 'SHOULD']);
});

test('every requirement has checks, or the reason why it cannot be observed', () => {
  const neither = [...requirements.values()].filter(
    ({ checks, unobservable }) => checks === undefined && unobservable === undefined,
  );
  expect(neither.map(({ id }) => id)).toEqual([]);
});
