/** What a column needs of a terminal's width, in columns of the terminal. */
export interface ColumnNeed {
  /** Of its widest cell. */
  readonly natural: number;
  /** With less it says nothing any more; at most `natural`. */
  readonly least: number;
}

/**
 * Shares a width among columns. Those that need little get what they need; the others share the rest evenly. Where one would
 * get less than its least, columns are left out from the last on; the first always stays.
 *
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

/** Under the highest cap that they all fit under; what is left then goes to the first that can use it. */
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
