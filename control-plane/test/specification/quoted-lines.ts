import { readFileSync } from 'node:fs';

/** A row of a table, an item of a list or a paragraph of the specification. */
export interface QuotedLine {
  /** The heading it stands under. */
  readonly under: string;
  /** Cells divided by `|`, without the marks for code. */
  readonly text: string;
}

/** Every line of the sections that are quoted in specification.md, except what it says it does not show. */
export function quotedLines(): readonly QuotedLine[] {
  const lines: QuotedLine[] = [];
  let under = '';
  let inTable = false;
  for (const line of readFileSync(new URL('specification.md', import.meta.url), 'utf8').split('\n')) {
    const [, heading] = /^#+ (.+)/.exec(line) ?? [];
    under = heading ?? under;
    const isRow = line.startsWith('|');
    // A table begins with its columns' names and a line of dashes.
    const isHead = isRow && (!inTable || /^\|[-|]+\|$/.test(line));
    inTable = isRow;
    if (heading !== undefined || isHead || line === '' || line.endsWith('not shown.')) continue;
    const text = line
      .replace(/^(- |\d+\. |\| )/, '')
      .replace(/ \|$/, '')
      .replaceAll('`', '');
    lines.push({ under, text });
  }
  return lines;
}
