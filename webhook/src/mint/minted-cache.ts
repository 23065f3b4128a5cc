import { type Clock, formatTime } from '@svault/shared';
import type { Minted } from '../vault/current-credential.ts';
import type { NewCredential } from './minting.ts';

/** For whom something was minted, of what. */
export interface MintedFor {
  readonly serviceName: string;
  readonly version: number;
  /** The ticket's `sub`. */
  readonly caller: string;
}

/** Minted credentials, in memory alone, until two thirds of their life are over. */
export interface MintedCache {
  atHand(whom: MintedFor): Minted | undefined;
  /** What is at hand, else what `mint` makes: one call of it, however many wait. A failure is not kept. */
  obtain(whom: MintedFor, mint: () => Promise<NewCredential>): Promise<Minted>;
  /** Drops what is too old, and what was minted of a version that is not the live one any more. */
  tidy(liveVersion: (serviceName: string) => number | undefined): void;
}

/** More than these would be a caller for every second; whoever was not heard of for longest is minted for anew. */
const MAX_KEPT = 10_000;
const FRESH_PART = 2 / 3;

interface Kept {
  readonly whom: MintedFor;
  readonly minted: Minted;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** @param options.maxKept how many are kept at a time */
export function createMintedCache(options: {
  readonly clock: Clock;
  readonly maxKept?: number;
}): MintedCache {
  const { clock, maxKept = MAX_KEPT } = options;
  /** The one used last stands last. */
  const kept = new Map<string, Kept>();
  const underWay = new Map<string, Promise<Minted>>();

  const isFresh = ({ fromMs, untilMs }: Kept): boolean => fromMs <= clock.now() && clock.now() < untilMs;

  const atHand = (whom: MintedFor): Minted | undefined => {
    const key = keyOf(whom);
    const found = kept.get(key);
    if (found === undefined) return undefined;
    kept.delete(key);
    if (!isFresh(found)) return undefined;
    kept.set(key, found);
    return found.minted;
  };

  const make = async (whom: MintedFor, mint: () => Promise<NewCredential>): Promise<Minted> => {
    // Before the call: the life of what it gives has begun by its end.
    const fromMs = clock.now();
    const { accessToken, expiryMs } = await mint();
    if (expiryMs === undefined) return { accessToken };
    const minted = { accessToken, expiryTime: formatTime(expiryMs) };
    const untilMs = fromMs + (expiryMs - fromMs) * FRESH_PART;
    if (untilMs <= fromMs) return minted;
    kept.set(keyOf(whom), { whom, minted, fromMs, untilMs });
    for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - maxKept))) kept.delete(oldest);
    return minted;
  };

  return {
    atHand,
    obtain: async (whom, mint) => {
      const found = atHand(whom);
      if (found !== undefined) return found;
      const key = keyOf(whom);
      const waiting = underWay.get(key) ?? make(whom, mint).finally(() => underWay.delete(key));
      underWay.set(key, waiting);
      return waiting;
    },
    tidy: (liveVersion) => {
      for (const [key, entry] of kept) {
        const { serviceName, version } = entry.whom;
        if (!isFresh(entry) || liveVersion(serviceName) !== version) kept.delete(key);
      }
    },
  };
}

const keyOf = ({ serviceName, version, caller }: MintedFor): string =>
  JSON.stringify([serviceName, version, caller]);
