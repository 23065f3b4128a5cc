import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { specificationLines } from './specification-lines.ts';

const TESTS = new URL('..', import.meta.url);
const TAG = /\bspec\(((?:\s*(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"),?)+)\s*\)/g;
const QUOTED = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/g;

/** What the tests of this package are tagged with. */
const tagged = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .flatMap((path) => [...readFileSync(new URL(path, TESTS), 'utf8').matchAll(TAG)])
  .flatMap(([, tags = '']) => [...tags.matchAll(QUOTED)])
  .map(([, single, double]) => (single ?? double ?? '').replaceAll(/\\(.)/g, '$1'));

test('every tag quotes a line of the specification', () => {
  const misquoted = tagged.filter((tag) => !specificationLines().some(({ text }) => text.includes(tag)));
  expect(misquoted).toEqual([]);
});

test('every line of the specification has a test', () => {
  const untested = specificationLines().flatMap(({ heading, text }) => {
    const held = new Set<number>();
    for (const tag of tagged) {
      const start = text.indexOf(tag);
      if (start !== -1) for (let at = start; at < start + tag.length; at++) held.add(at);
    }
    const rest = [...text].map((letter, at) => (held.has(at) ? ' ' : letter)).join('');
    return /\w/.test(rest) ? [`${heading}: ${text} (untested: ${rest.trim()})`] : [];
  });
  expect(untested).toEqual([]);
});
