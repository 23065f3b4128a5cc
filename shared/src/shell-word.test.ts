import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellWord } from './shell-word.ts';

test.each(['github', 'my-app.v2', '../svault', 'a@b.example:8080'])('%j needs no quotes', (text) => {
  expect(shellWord(text)).toBe(text);
});

test.each([
  '',
  'two words',
  'slack; id',
  '$(id)',
  '`id`',
  "it's",
  '"',
  '\\',
  '*',
  '~',
  'a\nb',
  'ü',
  '#x',
  '!1',
])('a shell reads %j as one word', (text) => {
  expect(execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' })).toBe(text);
});
