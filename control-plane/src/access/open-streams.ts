import type { Id } from '@svault/shared';

/** protocol.md section 2: exchanges of one proxy at once. */
const MAX_STREAMS = 64;
/** Of all proxies of an account, which may have any number: what they hold of memory and descriptors is everybody's. */
const MAX_STREAMS_PER_ACCOUNT = 4_096;

/** A place among a proxy's exchanges. */
export interface OpenStream {
  /** Gives it back; once or more often. */
  close(): void;
}

/** Counts what goes on in this process. */
export interface OpenStreams {
  /** @returns undefined where the proxy, or its account, has as many as it may */
  open(proxy: { readonly vaultId: Id<'vlt'>; readonly proxyId: Id<'prx'> }): OpenStream | undefined;
}

export function createOpenStreams({
  maxPerProxy = MAX_STREAMS,
  maxPerAccount = MAX_STREAMS_PER_ACCOUNT,
} = {}): OpenStreams {
  const counts = new Map<string, number>();
  const countOf = (id: string): number => counts.get(id) ?? 0;
  const add = (id: string, change: 1 | -1): void => {
    const count = countOf(id) + change;
    if (count === 0) counts.delete(id);
    else counts.set(id, count);
  };

  return {
    open: ({ vaultId, proxyId }) => {
      if (countOf(proxyId) >= maxPerProxy || countOf(vaultId) >= maxPerAccount) return undefined;
      add(proxyId, 1);
      add(vaultId, 1);
      let isOpen = true;
      return {
        close: () => {
          if (!isOpen) return;
          isOpen = false;
          add(proxyId, -1);
          add(vaultId, -1);
        },
      };
    },
  };
}
