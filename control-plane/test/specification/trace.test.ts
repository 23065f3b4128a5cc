import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../../', import.meta.url);
const TAG = /\bspec\(((?:\s*(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"),?)+)\s*\)/g;
const QUOTED = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/g;

/** What tests are tagged with. */
const tagged = ['control-plane/src/', 'control-plane/test/', 'webhook/test/', 'cli/src/', 'cli/test/']
  .flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts') || path.endsWith('-contract.ts'))
      .flatMap((path) => [...readFileSync(new URL(folder + path, ROOT), 'utf8').matchAll(TAG)]),
  )
  .flatMap(([, tags = '']) => [...tags.matchAll(QUOTED)])
  .map(([, single, double]) => (single ?? double ?? '').replaceAll(/\\(.)/g, '$1'));

/** A row of a table, an item of a list or a paragraph of the specification. */
interface Line {
  readonly heading: string;
  /** Cells divided by `|`, without the marks for code. */
  readonly text: string;
}

/** Every line of the sections that are quoted in specification.md, except what it says it does not show. */
function specificationLines(): readonly Line[] {
  const lines: Line[] = [];
  let heading = '';
  let inTable = false;
  for (const line of readFileSync(new URL('specification.md', import.meta.url), 'utf8').split('\n')) {
    const [, title] = /^#+ (.+)/.exec(line) ?? [];
    heading = title ?? heading;
    const isRow = line.startsWith('|');
    // A table begins with its columns' names and a line of dashes.
    const isHead = isRow && (!inTable || /^\|[-|]+\|$/.test(line));
    inTable = isRow;
    if (title !== undefined || isHead || line === '' || line.endsWith('not shown.')) continue;
    const text = line
      .replace(/^(- |\d+\. |\| )/, '')
      .replace(/ \|$/, '')
      .replaceAll('`', '');
    lines.push({ heading, text });
  }
  return lines;
}

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
