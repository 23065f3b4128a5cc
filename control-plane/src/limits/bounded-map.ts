/** A map that holds no more than a bound and forgets what has ended. */
export interface BoundedMap<V> {
  get(key: string): V | undefined;
  /** Puts an entry in; where there is no room, the oldest of the lightest ones go. */
  set(key: string, value: V): void;
  /** Looks at some entries, where it stopped the last time, and forgets those that have ended. */
  sweep(nowMs: number, entries: number): void;
  entries(): Iterable<readonly [string, V]>;
  readonly size: number;
}

/** Weights 1, 2–3, 4–7, 8–15, and 16 and more. */
const CLASSES = 5;
/** Room is made for so many at once: to find the oldest entry, a `Map` goes past all that were taken out before it. */
const SHARE_THAT_GOES = 1 / 100;

/** What new entries always have of the room, however many heavy ones there are. */
const SHARE_OF_THE_LIGHT = 1 / 8;

/**
 * Entries go out of the lightest class that has more than its share of the room. So whoever floods the map with new
 * entries pushes out such new ones, and nothing that weighs more: to have an entry forgotten, most of what there is room
 * for must be made as heavy.
 *
 * @param endsAtMs from when on an entry says nothing any more
 * @param weight how much would be lost with an entry: a whole number from 1 on
 */
export function createBoundedMap<V>({
  max,
  endsAtMs,
  weight,
}: {
  readonly max: number;
  readonly endsAtMs: (value: V) => number;
  readonly weight: (value: V) => number;
}): BoundedMap<V> {
  const lightest = new Map<string, V>();
  const classes = [lightest, ...Array.from({ length: CLASSES - 1 }, () => new Map<string, V>())];
  let size = 0;
  let sweptClass = 0;
  let swept = lightest.entries();

  const classOf = (value: V): Map<string, V> =>
    classes[Math.min(31 - Math.clz32(weight(value)), CLASSES - 1)] ?? lightest;
  const holding = (key: string): Map<string, V> | undefined => {
    for (const map of classes) if (map.has(key)) return map;
    return undefined;
  };
  const forget = (map: Map<string, V>, key: string): void => {
    if (map.delete(key)) size -= 1;
  };
  const makeRoom = (): void => {
    const map = classes.find((one) => one.size >= max * SHARE_OF_THE_LIGHT) ?? lightest;
    let left = Math.ceil(max * SHARE_THAT_GOES);
    // A map keeps the order in which keys came.
    for (const oldest of map.keys()) {
      forget(map, oldest);
      if ((left -= 1) === 0) return;
    }
  };
  const nextClass = (): void => {
    sweptClass = (sweptClass + 1) % CLASSES;
    swept = (classes[sweptClass] ?? lightest).entries();
  };

  return {
    get: (key) => {
      for (const map of classes) {
        const value = map.get(key);
        if (value !== undefined) return value;
      }
      return undefined;
    },
    set: (key, value) => {
      const [before, after] = [holding(key), classOf(value)];
      if (before !== after) {
        if (before !== undefined) forget(before, key);
        else if (size >= max) makeRoom();
        size += 1;
      }
      after.set(key, value);
    },
    sweep: (nowMs, entries) => {
      // What is put in anew while it is swept moves or stays, so every class comes to its end.
      for (let looked = 0; looked < entries; looked += 1) {
        const entry = swept.next();
        if (entry.done === true) {
          nextClass();
          return;
        }
        if (endsAtMs(entry.value[1]) <= nowMs) forget(classes[sweptClass] ?? lightest, entry.value[0]);
      }
    },
    entries: function* () {
      for (const map of classes) yield* map;
    },
    get size() {
      return size;
    },
  };
}
