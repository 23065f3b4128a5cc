import { type FocusEvent, type UIEvent, useMemo, useState } from 'react';

/** Holds a list still while somebody points at it, is in it by keyboard, or has scrolled down in it. */
export function useHold() {
  const [by, setBy] = useState({ pointer: false, focus: false, scroll: false });
  const props = useMemo(() => {
    const set = (change: Partial<typeof by>): void => setBy((before) => ({ ...before, ...change }));
    return {
      onPointerEnter: () => set({ pointer: true }),
      onPointerLeave: () => set({ pointer: false }),
      onFocus: () => set({ focus: true }),
      onBlur: ({ currentTarget, relatedTarget }: FocusEvent) =>
        set({ focus: relatedTarget instanceof Node && currentTarget.contains(relatedTarget) }),
      onScroll: ({ currentTarget }: UIEvent) => set({ scroll: currentTarget.scrollTop > 0 }),
    };
  }, []);
  return { held: by.pointer || by.focus || by.scroll, props };
}
