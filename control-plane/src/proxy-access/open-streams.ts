import type { Id } from '@svault/shared';

/** protocol.md section 2: exchanges of one proxy at once. */
const MOST_STREAMS = 64;

/** A place among a proxy's exchanges. */
export interface OpenStream {
  /** Gives it back; once or more often. */
  close(): void;
}

/** Counts what goes on in this process. */
export interface OpenStreams {
  /** @returns undefined where the proxy has as many as it may */
  open(proxyId: Id<'prx'>): OpenStream | undefined;
}

export function createOpenStreams(most = MOST_STREAMS): OpenStreams {
  const counts = new Map<Id<'prx'>, number>();
  return {
    open: (proxyId) => {
      const count = counts.get(proxyId) ?? 0;
      if (count >= most) return undefined;
      counts.set(proxyId, count + 1);
      let isOpen = true;
      return {
        close: () => {
          if (!isOpen) return;
          isOpen = false;
          const left = (counts.get(proxyId) ?? 1) - 1;
          if (left === 0) counts.delete(proxyId);
          else counts.set(proxyId, left);
        },
      };
    },
  };
}
