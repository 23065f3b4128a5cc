import { expect, test } from 'vitest';
import { RUN_ELSEWHERE, isElsewhere } from './blocks-run-elsewhere.ts';
import { commandBlocks } from './command-blocks.ts';

const blocks = commandBlocks();

test('every reason why a block is run elsewhere is about a block that exists', () => {
  const idle = RUN_ELSEWHERE.filter((reason) => !blocks.some((block) => isElsewhere(block, reason)));
  expect(idle).toEqual([]);
});

test('no page runs a name that no registry has under our control', () => {
  const strange = blocks.filter(({ text }) => /\bnpx svault\b(?!-conformance)/.test(text));
  expect(strange).toEqual([]);
});
