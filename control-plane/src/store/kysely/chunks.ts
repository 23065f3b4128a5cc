/** Largest first. A statement's text has a place for each value, so few sizes are few prepared statements. */
const SIZES = [100, 10, 1] as const;

/** Cuts a list for statements that take several rows or names at once. */
export function* chunksOf<T>(items: readonly T[]): Generator<readonly T[]> {
  let from = 0;
  for (const size of SIZES)
    for (; items.length - from >= size; from += size) yield items.slice(from, from + size);
}
