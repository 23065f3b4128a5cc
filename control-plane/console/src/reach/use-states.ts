import { useQueries } from '@tanstack/react-query';
import { type Caller, statesQuery } from './queries.ts';
import type { ReachState } from './state-mark.tsx';

/** Callers and credentials of one request; what the API takes at most. */
const SIDE = 50;

/** First and last of what is shown. */
export type Range = readonly [first: number, last: number];

/**
 * The states of what is shown, loaded by tiles.
 * @returns `stateAt` gives undefined while a tile is on its way; the first error of a tile
 */
export function useStates(
  callers: readonly Caller[],
  credentials: readonly string[],
  [rows, columns]: readonly [Range, Range],
): {
  readonly stateAt: (row: number, column: number) => ReachState | undefined;
  readonly error: Error | undefined;
} {
  const tiles = tilesOf(rows).flatMap((row) => tilesOf(columns).map((column) => [row, column] as const));
  const answers = useQueries({
    queries: tiles.map(([row, column]) =>
      statesQuery(
        callers.slice(row * SIDE, (row + 1) * SIDE).map(({ id }) => id),
        credentials.slice(column * SIDE, (column + 1) * SIDE),
      ),
    ),
  });
  const byTile = new Map(
    tiles.map(([row, column], index) => [`${row} ${column}`, answers[index]?.data?.rows]),
  );
  return {
    stateAt: (row, column) =>
      byTile.get(`${Math.floor(row / SIDE)} ${Math.floor(column / SIDE)}`)?.[row % SIDE]?.[column % SIDE],
    error: answers.find(({ error }) => error !== null)?.error ?? undefined,
  };
}

function tilesOf([first, last]: Range): readonly number[] {
  const from = Math.floor(first / SIDE);
  return Array.from({ length: Math.floor(last / SIDE) - from + 1 }, (_, n) => from + n);
}
