import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Target, verdict } from './targets.ts';

/** One line of the table. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly target: Target;
  /** What each round gave, where there were several; `value` is the median. */
  readonly rounds?: readonly number[];
  /** A further remark. */
  readonly note?: string;
}

/** The least and the most of several values. */
export const spreadOf = (values: readonly number[]): { readonly least: number; readonly most: number } => ({
  least: Math.min(...values),
  most: Math.max(...values),
});

const RESULTS = fileURLToPath(new URL('../results', import.meta.url));
const DECIMALS = { ratio: 3, ms: 2, kB: 0, MB: 0 } as const;

const inUnit = (value: number, { unit }: Target): string =>
  `${value.toFixed(DECIMALS[unit])}${unit === 'ratio' ? '' : ` ${unit}`}`;

/** The median, and the least and the most of several rounds: `0.310 (0.290 to 0.330)`. */
export function shown({ value, target, rounds = [] }: Row): string {
  if (rounds.length < 2) return inUnit(value, target);
  const { least, most } = spreadOf(rounds);
  const [from, to] = [least, most].map((each) => each.toFixed(DECIMALS[target.unit]));
  return `${inUnit(value, target)} (${from} to ${to})`;
}

/** The table: what was measured, what it must and should be, and which of them it is. */
export const table = (rows: readonly Row[]): string =>
  columns([
    ['what', 'measured', 'must', 'goal', 'reached', ''],
    ...rows.map((row) => [
      row.name,
      shown(row),
      inUnit(row.target.must, row.target),
      inUnit(row.target.goal, row.target),
      verdict(row.value, row.target),
      row.note ?? '',
    ]),
  ]);

export function columns(lines: readonly (readonly string[])[]): string {
  const widths =
    lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Writes a run under `results/`. @returns the file's path */
export function writeResults(run: object, at: Date): string {
  mkdirSync(RESULTS, { recursive: true });
  const file = join(RESULTS, `${at.toISOString().replaceAll(':', '-')}.json`);
  writeFileSync(file, `${JSON.stringify({ at, ...run }, null, 2)}\n`);
  return file;
}
