import { useEffect } from 'react';

/** Keys that work on each screen, unless they are typed into a field. @param actions.help opens the list of keys */
export function useKeyboard({ help }: { readonly help: () => void }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { key, target, altKey, ctrlKey, metaKey } = event;
      if (altKey || ctrlKey || metaKey || event.defaultPrevented || isField(target)) return;
      if (key === '?') help();
      else if (key === '/') document.querySelector<HTMLElement>('[data-search]')?.focus();
      else if (key === 'j') moveInList(1);
      else if (key === 'k') moveInList(-1);
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [help]);
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, select, textarea, [contenteditable]') !== null;

function moveInList(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')];
  const at = rows.findIndex((row) => row === document.activeElement);
  rows[at === -1 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus();
}
