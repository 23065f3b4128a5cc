import { useEffect, useSyncExternalStore } from 'react';

const SHOWN_MS = 6_000;

let text = '';
const watchers = new Set<() => void>();

/** Says that something was done, for a few seconds, to everybody. @param message one sentence without a secret */
export function notify(message: string): void {
  text = message;
  for (const watcher of watchers) watcher();
}

const watch = (watcher: () => void): (() => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

/** Where notices appear: over the page, so that nothing moves. */
export function Notice() {
  const shown = useSyncExternalStore(watch, () => text);
  useEffect(() => {
    if (shown === '') return undefined;
    const timer = setTimeout(() => notify(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return (
    <p
      role="status"
      className={
        shown === ''
          ? 'sr-only'
          : 'card fixed right-4 bottom-4 left-4 py-3 wrap-anywhere shadow-lg sm:left-auto sm:max-w-md'
      }
    >
      {shown}
    </p>
  );
}
