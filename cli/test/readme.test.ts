import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EXIT_CODES } from '../src/failure.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

test('the README’s table of exit codes names every one', () => {
  const documented = [...readme.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code));
  expect(documented).toEqual(Object.values(EXIT_CODES).map(({ code }) => code));
});
