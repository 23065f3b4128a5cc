import { styleText } from 'node:util';
import stringWidth from 'string-width';

export interface Table {
  readonly titles: readonly string[];
  /** One line each cell. */
  readonly rows: readonly (readonly string[])[];
}

const GAP = '  ';

/** Columns as wide as their widest cell. @param options.columns what it has to fit; undefined: anything does */
export function renderTable(
  { titles, rows }: Table,
  options: { readonly columns: number | undefined; readonly color: boolean },
): string {
  const widths = titles.map((title, index) =>
    Math.max(...[title, ...rows.map((row) => row[index] ?? '')].map((cell) => stringWidth(cell))),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - stringWidth(cell)))
      .join(GAP)
      .trimEnd();
  const head = line(titles.map((title) => title.toUpperCase()));
  const shownHead = options.color ? styleText('bold', head, { validateStream: false }) : head;
  return [shownHead, ...rows.map(line)].map((each) => `${each}\n`).join('');
}
