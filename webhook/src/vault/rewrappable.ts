/** Moves one wrapped value to the newest master key; undefined when it is there already. */
export type Rewrap = (wrapped: Uint8Array, purpose: string) => Uint8Array | undefined;

/** A store that holds values wrapped under the master key. A rotation walks through all of them. */
export interface Rewrappable {
  /**
   * Moves the next values, in ascending order of row, inside the open transaction.
   *
   * @param after the last row of the former call, 0 at first
   * @param limit at most so many rows are looked at
   * @returns the last row that was looked at, undefined when none is left
   */
  rewrap(move: Rewrap, after: number, limit: number): number | undefined;
}
