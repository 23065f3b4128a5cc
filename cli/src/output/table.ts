import stringWidth from 'string-width';
import { styleText } from 'node:util';

type TextStyle = Parameters<typeof styleText>[0];

interface Cell {
  readonly text: string;
  readonly tone?: TextStyle | undefined;
}

interface Table {
  /** In the order of their importance. @see fit */
  readonly columns: readonly { readonly title: string; readonly whole?: boolean | undefined }[];
  readonly rows: readonly (readonly Cell[])[];
}

const GAP = 2;
const READABLE = 8;
const READABLE_FIRST = 20;

/**
 * Columns as wide as their widest cell.
 * @param options.width in columns of a terminal, which it has to fit; undefined: anything does
 */
export function renderTable(
  { columns, rows }: Table,
  options: { readonly width: number | undefined; readonly color: boolean },
): string {
  const needs = columns.map(({ title, whole }, index) => {
    const natural = Math.max(
      ...[title, ...rows.map((row) => row[index]?.text ?? '')].map((each) => stringWidth(each)),
    );
    const readable = Math.min(natural, Math.max(index === 0 ? READABLE_FIRST : READABLE, stringWidth(title)));
    return { natural, least: whole === true ? natural : readable };
  });
  const widths =
    options.width === undefined ? needs.map(({ natural }) => natural) : fit(needs, options.width, GAP);
  const head = columns.map(({ title }): Cell => ({ text: title.toUpperCase(), tone: 'bold' }));
  return [head, ...rows].map((cells) => `${line(cells, widths, options.color)}\n`).join('');
}

function line(cells: readonly Cell[], widths: readonly number[], color: boolean): string {
  let shown = '';
  let owed = 0;
  for (const [index, width] of widths.entries()) {
    const { text, tone } = cells[index] ?? { text: '' };
    const fitting = cut(text, width);
    if (fitting !== '') {
      const styled =
        color && tone !== undefined ? styleText(tone, fitting, { validateStream: false }) : fitting;
      shown += ' '.repeat(owed) + styled;
      owed = 0;
    }
    owed += width - stringWidth(fitting) + GAP;
  }
  return shown;
}

/** What a column needs of a terminal's width, in columns of the terminal. */
interface ColumnNeed {
  readonly natural: number;
  /** With less it says nothing any more; at most `natural`. */
  readonly least: number;
}

/**
 * Shares a width among columns. Those that need little get what they need; the others share the rest evenly. Where one
 * would get less than its least, columns are left out from the last on; the first always stays.
 * @param needs in the order of their importance
 * @param gap between two columns
 * @returns a width for each column that stays; shorter than `needs` where columns are left out
 */
export function fit(needs: readonly ColumnNeed[], width: number, gap: number): number[] {
  for (let count = needs.length; count > 1; count -= 1) {
    const kept = needs.slice(0, count);
    const available = width - gap * (count - 1);
    if (sum(kept.map(({ least }) => least)) <= available) return shared(kept, available);
  }
  const [first] = needs;
  return first === undefined ? [] : [Math.max(1, Math.min(first.natural, width))];
}

/** The highest cap with which all of them fit; the remaining width goes to the first column that can use it. */
function shared(needs: readonly ColumnNeed[], available: number): number[] {
  const under = (cap: number): number[] =>
    needs.map(({ natural, least }) => Math.min(natural, Math.max(least, cap)));
  let cap = 0;
  for (let step = 2 ** 20; step >= 1; step /= 2) if (sum(under(cap + step)) <= available) cap += step;
  let left = available - sum(under(cap));
  return under(cap).map((width, index) => {
    const more = Math.min(left, 1, (needs[index]?.natural ?? 0) - width);
    left -= more;
    return width + more;
  });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const segmenter = new Intl.Segmenter();
const MARK = '…';

/** The text within a width in columns of a terminal; one that is longer ends in `…`. Nothing that shows as one is halved. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    used += stringWidth(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return kept.trimEnd() + MARK;
}
