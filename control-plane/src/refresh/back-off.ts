const FIRST_MS = 60_000;
const MAX_MS = 60 * 60_000;
/** How much of a pause chance may take away, so that what failed together is not tried together. */
const JITTER = 0.25;

/**
 * How long to wait after so many attempts in a row that came to nothing: a minute, doubled with each, an hour at most, less
 * up to a quarter.
 *
 * @param failures at least 1
 * @param random from 0 to below 1
 * @returns whole milliseconds
 */
export function backOffMs(failures: number, random: number): number {
  const pauseMs = Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS);
  return Math.round(pauseMs * (1 - JITTER * random));
}
