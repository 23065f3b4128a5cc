import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../../', import.meta.url);
const QUOTE = /^ *\/\/ spec: (.+)$(?=(?:\n *\/\/.*)*\n *(?:test|it)\b)/gm;

/** What the comments above tests quote: `// spec: …`. */
const quoted = ['control-plane', 'webhook', 'cli']
  .flatMap((name) => [`${name}/src/`, `${name}/test/`])
  .flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts') || path.endsWith('-contract.ts'))
      .flatMap((path) => [...readFileSync(new URL(folder + path, ROOT), 'utf8').matchAll(QUOTE)]),
  )
  .map(([, text = '']) => text);

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

test('every quotation is of a line of the specification', () => {
  const misquoted = quoted.filter(
    (quotation) => !specificationLines().some(({ text }) => text.includes(quotation)),
  );
  expect(misquoted).toEqual([]);
});

test('every line of the specification has a test', () => {
  const untested = specificationLines().flatMap(({ heading, text }) => {
    const held = new Set<number>();
    for (const quotation of quoted) {
      const start = text.indexOf(quotation);
      if (start !== -1) for (let at = start; at < start + quotation.length; at++) held.add(at);
    }
    const rest = [...text].map((letter, at) => (held.has(at) ? ' ' : letter)).join('');
    return /\w/.test(rest) ? [`${heading}: ${text} (untested: ${rest.trim()})`] : [];
  });
  expect(untested).toEqual([]);
});
