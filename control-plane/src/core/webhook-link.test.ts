import { expect, it } from 'vitest';
import { contradictionBetween } from './webhook-link.ts';

const known = { epoch: 'e1', seq: 10, hash: 'aa' };

it.each([
  ['the first head seen', undefined, known, undefined],
  ['the same head', known, known, undefined],
  ['a longer log', known, { ...known, seq: 11, hash: 'bb' }, undefined],
  ['another hash at the same place', known, { ...known, hash: 'bb' }, 'HASH_CHANGED'],
  ['a shorter log', known, { ...known, seq: 9 }, 'LOG_SHORTENED'],
  ['a new epoch', known, { ...known, epoch: 'e2', seq: 11 }, 'EPOCH_CHANGED'],
] as const)('contradictionBetween compares %s', (_name, before, seen, contradiction) => {
  expect(contradictionBetween(before, seen)).toBe(contradiction);
});
