import { expect, test } from 'vitest';
import { SOUND } from '../fixtures/sound.ts';
import { selectChecks } from '../src/registry.ts';
import { failuresOf } from './sound.ts';

/** All of them, with every check: sound.hard.test.ts. */
const SAMPLE = [
  'every character of JSON escaped',
  'members that nobody knows, in every object',
  'an address with a path',
  'PlainText alone',
  'nothing but store and credential',
  'nothing claimed',
];

test('there are at least 25 sound webhooks that choose differently', () => {
  expect(Object.keys(SOUND).length).toBeGreaterThanOrEqual(25);
});

test.concurrent.each(SAMPLE)('a sound webhook passes a check of each requirement: %s', async (variant) => {
  expect(await failuresOf(variant, selectChecks([], { fast: true }))).toEqual([]);
});
