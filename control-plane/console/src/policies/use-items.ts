import { useRef, useState } from 'react';

/** Items that come and go, each with a key, so that what is typed stays with its item. */
export function useItems<Item>(first: readonly Item[]) {
  const count = useRef(first.length);
  const [items, setItems] = useState(() => first.map((item, key) => ({ key, item })));
  return {
    items,
    add: (item: Item): void => {
      const key = count.current++;
      setItems((before) => [...before, { key, item }]);
    },
    remove: (key: number): void => setItems((before) => before.filter((each) => each.key !== key)),
  };
}
