/** A cell of the grid. Row 0 has the names of the columns, column 0 those of the rows. */
export interface Position {
  readonly row: number;
  readonly column: number;
}

const PAGE = 10;

/**
 * Where a key leads in a grid (WAI-ARIA Authoring Practices, "Grid").
 *
 * @param size of the grid without its names
 * @returns undefined for other keys
 */
export function moved(
  { row, column }: Position,
  { key, ctrlKey }: { readonly key: string; readonly ctrlKey: boolean },
  size: { readonly rows: number; readonly columns: number },
): Position | undefined {
  const to = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    PageUp: [row - PAGE, column],
    PageDown: [row + PAGE, column],
    Home: [ctrlKey ? 1 : row, 1],
    End: [ctrlKey ? size.rows : row, size.columns],
  }[key];
  if (to === undefined) return undefined;
  const [nextRow = 0, nextColumn = 0] = to;
  const next = {
    row: Math.min(Math.max(nextRow, 0), size.rows),
    column: Math.min(Math.max(nextColumn, 0), size.columns),
  };
  // The corner has nothing to go to.
  return next.row === 0 && next.column === 0 ? { row, column } : next;
}
