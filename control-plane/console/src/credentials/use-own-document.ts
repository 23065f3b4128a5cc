import { useEffect } from 'react';

/**
 * Lets the form of a secret begin in a document of its own: what other screens did is not in its memory, and the content security
 * policy, which names the webhook, is that of now. A screen that was reached without a load is loaded again.
 *
 * @returns false while that happens
 */
export function useOwnDocument(): boolean {
  const [entry] = performance.getEntriesByType('navigation');
  const isOwn = entry === undefined || URL.parse(entry.name)?.pathname === window.location.pathname;
  useEffect(() => {
    if (!isOwn) window.location.reload();
  }, [isOwn]);
  return isOwn;
}
