/** A map that holds no more than a bound and forgets what has ended. */
export interface BoundedMap<V> {
  get(key: string): V | undefined;
  /** Puts an entry in; where there is no room the one that was put in longest ago goes. */
  set(key: string, value: V): void;
  /** Looks at some entries, where it stopped the last time, and forgets those that have ended. */
  sweep(nowMs: number, entries: number): void;
  entries(): Iterable<readonly [string, V]>;
  readonly size: number;
}

/** @param endsAtMs from when on an entry says nothing any more */
export function createBoundedMap<V>({
  most,
  endsAtMs,
}: {
  readonly most: number;
  readonly endsAtMs: (value: V) => number;
}): BoundedMap<V> {
  const map = new Map<string, V>();
  let next = map.entries();

  return {
    get: (key) => map.get(key),
    set: (key, value) => {
      // Taken out first: a map keeps the order in which keys came, and the oldest is the first.
      if (!map.delete(key) && map.size >= most) {
        const oldest = map.keys().next();
        if (oldest.done !== true) map.delete(oldest.value);
      }
      map.set(key, value);
    },
    sweep: (nowMs, entries) => {
      for (let looked = 0; looked < entries; looked += 1) {
        const entry = next.next();
        if (entry.done === true) {
          next = map.entries();
          return;
        }
        const [key, value] = entry.value;
        if (endsAtMs(value) <= nowMs) map.delete(key);
      }
    },
    entries: () => map.entries(),
    get size() {
      return map.size;
    },
  };
}
