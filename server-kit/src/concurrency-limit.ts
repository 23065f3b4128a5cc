/**
 * Limits concurrent work by key in this process, so that no key takes all connections and memory.
 * @param max at the same time, of one key
 */
export function createConcurrencyLimit(max: number) {
  const counts = new Map<string, number>();
  let taken = 0;
  return {
    /** @returns a function that releases the place, idempotent; undefined if the key has the maximum */
    take: (key: string): (() => void) | undefined => {
      const count = counts.get(key) ?? 0;
      if (count >= max) return undefined;
      counts.set(key, count + 1);
      taken += 1;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        taken -= 1;
        const left = (counts.get(key) ?? 1) - 1;
        if (left === 0) counts.delete(key);
        else counts.set(key, left);
      };
    },
    /** By all keys. */
    taken: (): number => taken,
  };
}

export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>;
