import { expect, it } from 'vitest';
import { didYouMean, nearNames } from './near-names.ts';

const NAMES = ['github', 'gitlab', 'github-prod', 'npm', 'slack', 'a'];

it.each([
  ['githb', ['github']],
  ['gtihub', ['github']],
  ['GitHub', ['github', 'github-prod']],
  ['git', ['github', 'github-prod', 'gitlab']],
  ['gitlub', ['github', 'gitlab']],
  ['slcak', ['slack']],
  ['nmp', ['npm']],
  ['b', []],
  ['postgres', []],
  ['', []],
])('near %j are %j', (wanted, near) => {
  expect(nearNames(wanted, NAMES)).toEqual(near);
});

it('didYouMean names them behind a sentence, or says nothing', () => {
  expect(didYouMean('gitlub', NAMES)).toBe(' Did you mean `github` or `gitlab`?');
  expect(didYouMean('postgres', NAMES)).toBe('');
});

it('compares a bounded part of a name', () => {
  const long = 'x'.repeat(64);
  expect(nearNames(`${long}${'y'.repeat(100_000)}`, [`${long}z`])).toEqual([`${long}z`]);
});
