import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { cut } from './cut.ts';
import { fit } from './fit.ts';

type TextStyle = Parameters<typeof styleText>[0];

interface Cell {
  /** One line. */
  readonly text: string;
  readonly tone?: TextStyle | undefined;
}

export interface Table {
  /** In the order of their importance. @see fit */
  readonly columns: readonly { readonly title: string; readonly whole?: boolean | undefined }[];
  readonly rows: readonly (readonly Cell[])[];
}

const GAP = 2;
/** A cell that is cut keeps at least this much. */
const READABLE = 8;
/** What tells rows apart keeps more. */
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

/** Nothing stands behind the last text of a line. */
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
