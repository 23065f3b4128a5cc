import { expect, test } from 'vitest';
import { SOUND } from '../fixtures/sound.ts';
import { CHECKS } from '../src/registry.ts';
import { failuresOf } from './sound.ts';

test.each(Object.keys(SOUND))('a sound webhook passes every check: %s', async (variant) => {
  expect(await failuresOf(variant, CHECKS)).toEqual([]);
});
