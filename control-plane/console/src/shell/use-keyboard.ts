import { useEffect } from 'react';

/** Marks the field of a screen to which `/` leads. */
export const SEARCH_FIELD = { 'data-search': '' } as const;

/** Keys that work on each screen, unless they are typed into a field. @param actions.help opens the list of keys */
export function useKeyboard({ help }: { readonly help: () => void }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { key, target, altKey, ctrlKey, metaKey } = event;
      if (altKey || ctrlKey || metaKey || event.defaultPrevented || isField(target)) return;
      if (key === '?') help();
      else if (key === '/') document.querySelector<HTMLElement>('[data-search]')?.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [help]);
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, select, textarea, [contenteditable]') !== null;
