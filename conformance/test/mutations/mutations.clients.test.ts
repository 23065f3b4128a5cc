import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readEquivalents, readSample } from './lists.ts';
import { runMutations } from './run-mutations.ts';

const MINIMAL = new URL('../../fixtures/minimal/', import.meta.url);
/** They hold no rule: what they get wrong breaks every answer, or nothing. */
const NOT_MUTATED =
  /^(errors|received|refreshing|reply|signature-mac|signature-reading|signed-routes|ssh-key|world)\.ts$/;

test('a sample of the mutations of the minimal webhook is found, each by its check', async () => {
  const verdicts = await runMutations('--sample');
  expect(verdicts.map(({ id, foundBy }) => [id, foundBy])).toEqual([...readSample()]);
});

test('the sample has a mutation of each file, and none that breaks no MUST', () => {
  const sample = [...readSample().keys()];
  const files = readdirSync(MINIMAL).filter((file) => !NOT_MUTATED.test(file));
  const mutated = sample.map((id) => id.split(' ', 1)[0]);
  expect(files.filter((file) => !mutated.includes(file))).toEqual([]);
  expect(sample.filter((id) => readEquivalents().has(id))).toEqual([]);
});
