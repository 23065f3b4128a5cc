import { createConcurrencyLimit } from '@svault/server-kit/concurrency-limit';
import type { Id } from '@svault/shared';
import type { ProxySubject } from './subject.ts';

/** PROTOCOL.md section 2: exchanges of one proxy at once. */
const MAX_STREAMS = 64;
/** Of all proxies of an account, which may have any number: their memory and descriptors are shared by all accounts. */
const MAX_STREAMS_PER_ACCOUNT = 4_096;

export interface OpenStream {
  /** Idempotent. */
  close(): void;
}

export type OpenStreams = ReturnType<typeof createOpenStreams>;

/** Counts the exchanges of this process. */
export function createOpenStreams({
  maxPerProxy = MAX_STREAMS,
  maxPerAccount = MAX_STREAMS_PER_ACCOUNT,
} = {}) {
  const ofProxy = createConcurrencyLimit(maxPerProxy);
  const ofAccount = createConcurrencyLimit(maxPerAccount);
  return {
    /** @returns undefined where the proxy or its account has the maximum open */
    open: ({ vaultId, proxyId }: Pick<ProxySubject, 'vaultId' | 'proxyId'>): OpenStream | undefined => {
      const leaveProxy = ofProxy.take(proxyId);
      const leaveAccount = leaveProxy && ofAccount.take(vaultId);
      if (leaveAccount === undefined) {
        leaveProxy?.();
        return undefined;
      }
      return {
        close: () => {
          leaveProxy?.();
          leaveAccount();
        },
      };
    },
    count: ofAccount.taken,
  };
}

const MIB = 1024 * 1024;
/** Bytes of large bodies that this process keeps at once; more would exhaust its memory. */
const MAX_BYTES = 256 * MIB;
/** Those of one account among them, so that it leaves room for others. */
const MAX_BYTES_PER_ACCOUNT = 64 * MIB;

/** Memory for the body of one exchange. */
export interface BodyReservation {
  /** Releases all but so many bytes, once the size of the body is known. */
  keep(bytes: number): void;
  /** Releases all of it. Idempotent. */
  close(): void;
}

export type BodyMemory = ReturnType<typeof createBodyMemory>;

/** Counts the bytes of large bodies, which are kept until the end of their exchange. */
export function createBodyMemory({ maxBytes = MAX_BYTES, maxBytesPerAccount = MAX_BYTES_PER_ACCOUNT } = {}) {
  const bytesOf = new Map<Id<'vlt'>, number>();
  let total = 0;
  const add = (vaultId: Id<'vlt'>, bytes: number): void => {
    const sum = (bytesOf.get(vaultId) ?? 0) + bytes;
    if (sum === 0) bytesOf.delete(vaultId);
    else bytesOf.set(vaultId, sum);
    total += bytes;
  };

  return {
    /** @returns undefined where there is no room for so many bytes */
    reserve: (vaultId: Id<'vlt'>, bytes: number): BodyReservation | undefined => {
      const mine = bytesOf.get(vaultId) ?? 0;
      if (mine + bytes > maxBytesPerAccount || total + bytes > maxBytes) return undefined;
      add(vaultId, bytes);
      let reserved = bytes;
      const keep = (kept: number): void => {
        if (kept >= reserved) return;
        add(vaultId, kept - reserved);
        reserved = kept;
      };
      return { keep, close: () => keep(0) };
    },
  };
}
