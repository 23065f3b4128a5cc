/** A source of items that can be looked at before they are taken; `End` is what it returns behind the last. */
export interface LookAhead<T, End> {
  /** @param place 0: the next item. @returns undefined behind the last */
  at(place: number): Promise<T | undefined>;
  /** Takes the next item. */
  skip(): void;
  /** @returns the place of the first item behind the next that fits, among so many */
  find(count: number, fits: (item: T) => boolean): Promise<number | undefined>;
  /** Only once the last item was taken. */
  end(): End;
}

export function lookAhead<T, End>(source: AsyncGenerator<T, End>): LookAhead<T, End> {
  let items: T[] = [];
  let taken = 0;
  let ended: { readonly end: End } | undefined;
  const at = async (place: number): Promise<T | undefined> => {
    while (taken + place >= items.length && ended === undefined) {
      const next = await source.next();
      if (next.done === true) ended = { end: next.value };
      else items.push(next.value);
    }
    return items[taken + place];
  };
  return {
    at,
    skip: () => {
      taken += 1;
      if (taken < items.length) return;
      items = [];
      taken = 0;
    },
    find: async (count, fits) => {
      for (let place = 1; place <= count; place += 1) {
        const item = await at(place);
        if (item === undefined) return undefined;
        if (fits(item)) return place;
      }
      return undefined;
    },
    end: () => {
      if (ended === undefined) throw new Error('the source has not ended');
      return ended.end;
    },
  };
}
