/** A map with a maximum size that evicts expired entries. */
export type BoundedMap<V> = ReturnType<typeof createBoundedMap<V>>;

/** Weights 1, 2–3, 4–7, 8–15, and 16 and more. */
const CLASSES = 5;
/** Evicted at once: to find its oldest key, a `Map` goes past all keys that were deleted before it. */
const EVICTED_SHARE = 1 / 100;
/** Of the room, for light entries, however many heavy ones there are. */
const LIGHT_SHARE = 1 / 8;

/**
 * Evicts from the lightest class of weights that has more than its share of the room, so a flood of new entries evicts such
 * entries and no heavier ones. `lru-cache` evicts by last use alone: a flood there would evict full counters and lockouts.
 *
 * @param endsAtMs when an entry expires
 * @param weight how much is lost with an entry: a whole number, at least 1
 */
export function createBoundedMap<V>(options: {
  readonly max: number;
  readonly endsAtMs: (value: V) => number;
  readonly weight: (value: V) => number;
}) {
  const { max, endsAtMs, weight } = options;
  const lightest = new Map<string, V>();
  const classes = [lightest, ...Array.from({ length: CLASSES - 1 }, () => new Map<string, V>())];
  let size = 0;
  let checkedClass = 0;
  let unchecked = lightest.entries();

  const classOf = (value: V): Map<string, V> =>
    classes[Math.min(31 - Math.clz32(weight(value)), CLASSES - 1)] ?? lightest;
  const remove = (map: Map<string, V>, key: string): void => {
    if (map.delete(key)) size -= 1;
  };
  const makeRoom = (): void => {
    const map = classes.find((one) => one.size >= max * LIGHT_SHARE) ?? lightest;
    let left = Math.ceil(max * EVICTED_SHARE);
    // A map keeps the order in which keys came.
    for (const oldest of map.keys()) {
      remove(map, oldest);
      if ((left -= 1) === 0) return;
    }
  };

  return {
    get: (key: string): V | undefined => {
      for (const map of classes) {
        const value = map.get(key);
        if (value !== undefined) return value;
      }
      return undefined;
    },
    /** Sets an entry; a full map evicts the oldest of its lightest entries first. */
    set: (key: string, value: V): void => {
      const before = classes.find((map) => map.has(key));
      const after = classOf(value);
      if (before !== after) {
        if (before !== undefined) remove(before, key);
        else if (size >= max) makeRoom();
        size += 1;
      }
      after.set(key, value);
    },
    /** Checks the next `entries` entries, from where the last call stopped, and deletes the expired ones. */
    evictExpired: (nowMs: number, entries: number): void => {
      // An entry that is set meanwhile moves to another class or stays, so each class comes to its end.
      for (let checked = 0; checked < entries; checked += 1) {
        const entry = unchecked.next();
        if (entry.done === true) {
          checkedClass = (checkedClass + 1) % CLASSES;
          unchecked = (classes[checkedClass] ?? lightest).entries();
          return;
        }
        if (endsAtMs(entry.value[1]) <= nowMs) remove(classes[checkedClass] ?? lightest, entry.value[0]);
      }
    },
    entries: function* (): Iterable<readonly [string, V]> {
      for (const map of classes) yield* map;
    },
    get size(): number {
      return size;
    },
  };
}
