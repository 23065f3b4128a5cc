import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { verdict, type Target } from './targets.ts';

/** One line of the table. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly target: Target;
  /** A further remark. */
  readonly note?: string;
}

const RESULTS = fileURLToPath(new URL('../results', import.meta.url));
const DECIMALS = { ratio: 3, ms: 2, kB: 0, MB: 0 } as const;

/** The table: what was measured, what it must and should be, and which of them it is. */
export function table(rows: readonly Row[]): string {
  const show = (value: number, { unit }: Target): string =>
    `${value.toFixed(DECIMALS[unit])}${unit === 'ratio' ? '' : ` ${unit}`}`;
  const lines = [
    ['what', 'measured', 'must', 'goal', 'reached', ''],
    ...rows.map(({ name, value, target, note = '' }) => [
      name,
      show(value, target),
      show(target.must, target),
      show(target.goal, target),
      verdict(value, target),
      note,
    ]),
  ];
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
