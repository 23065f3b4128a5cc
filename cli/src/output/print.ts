import type { Invocation } from '../invocation.ts';
import { plainLine } from './plain-line.ts';
import { renderTable } from './table.ts';

/** A column of a table. */
export interface Column<T> {
  readonly title: string;
  readonly of: (item: T) => string;
  /** Shown with `--format wide` only. */
  readonly wide?: true;
}

/** How things of one kind are printed. */
export interface Shape<T> {
  /** In their order; the first should tell items apart. */
  readonly columns: readonly Column<T>[];
  /** What `--format name` prints: what other commands take. */
  readonly name: (item: T) => string;
}

/** Prints a list to stdout: a table, or with `--format json` an array of what the service said, whole. */
export function printList<T>(invocation: Invocation, items: readonly T[], shape: Shape<T>): void {
  const { flags, terminal, color } = invocation;
  const { out } = terminal;
  switch (flags.format) {
    case 'json':
      return out(`${JSON.stringify(items, null, 2)}\n`);
    case 'name':
      return out(items.map((item) => `${plainLine(shape.name(item))}\n`).join(''));
    case 'table':
    case 'wide': {
      const columns = shape.columns.filter(({ wide }) => flags.format === 'wide' || wide === undefined);
      const rows = items.map((item) => columns.map((column) => plainLine(column.of(item))));
      return out(
        renderTable(
          { titles: columns.map(({ title }) => title), rows },
          { columns: terminal.columns, color },
        ),
      );
    }
  }
}

/** Prints one thing: a line for each of all its columns, or with `--format json` the object. */
export function printOne<T>(invocation: Invocation, item: T, shape: Shape<T>): void {
  const { flags, terminal } = invocation;
  if (flags.format === 'json') return terminal.out(`${JSON.stringify(item, null, 2)}\n`);
  if (flags.format === 'name') return terminal.out(`${plainLine(shape.name(item))}\n`);
  const shown = shape.columns
    .map(({ title, of }) => [title, plainLine(of(item))] as const)
    .filter(([, text]) => text !== '');
  const width = Math.max(...shown.map(([title]) => title.length));
  terminal.out(shown.map(([title, text]) => `${title.padEnd(width)}  ${text}\n`).join(''));
}

/** What was done, for a person; on stderr, so that a pipe gets data alone. */
export const say = ({ terminal }: Pick<Invocation, 'terminal'>, text: string): void =>
  terminal.err(`${plainLine(text)}\n`);
