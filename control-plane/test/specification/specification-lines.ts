import { readFileSync } from 'node:fs';

/** A row of a table, an item of a list or a paragraph of the specification. */
export interface SpecificationLine {
  readonly heading: string;
  /** Cells divided by `|`, without the marks for code. */
  readonly text: string;
}

/** Every line of the sections that are quoted in specification.md, except what it says it does not show. */
export function specificationLines(): readonly SpecificationLine[] {
  const lines: SpecificationLine[] = [];
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
