/** Places for calls that are under way, by proxy, so that none takes every connection and all memory. */
export interface OpenStreams {
  /** @returns gives the place back; undefined where all are taken */
  take(proxyId: string): (() => void) | undefined;
}

/** @param most at the same time, of one proxy */
export function createOpenStreams(max: number): OpenStreams {
  const counts = new Map<string, number>();
  return {
    take: (proxyId) => {
      const open = counts.get(proxyId) ?? 0;
      if (open >= max) return undefined;
      counts.set(proxyId, open + 1);
      return () => {
        const left = (counts.get(proxyId) ?? 1) - 1;
        if (left === 0) counts.delete(proxyId);
        else counts.set(proxyId, left);
      };
    },
  };
}
