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
/** A provider may give tokens of 64 KiB, and a service that is broken into may name as many callers as it likes. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
const FRESH_PART = 2 / 3;

interface Kept {
  readonly whom: MintedFor;
  readonly minted: Minted;
  readonly fromMs: number;
  readonly untilMs: number;
  /** The same on the monotonic clock: each of the two ends what the other, set back or standing still, would keep. */
  readonly untilMonotonicMs: number;
}

/**
 * @param options.maxKept how many are kept at a time
 * @param options.maxCharacters how long they are together
 */
export function createMintedCache(options: {
  readonly clock: Clock;
  readonly maxKept?: number;
  readonly maxCharacters?: number;
}): MintedCache {
  const { clock, maxKept = MAX_KEPT, maxCharacters = MAX_CHARACTERS } = options;
  /** The one used last stands last. */
  const kept = new Map<string, Kept>();
  let characters = 0;
  const underWay = new Map<string, Promise<Minted>>();

  const isFresh = ({ fromMs, untilMs, untilMonotonicMs }: Kept): boolean =>
    fromMs <= clock.now() && clock.now() < untilMs && clock.monotonic() < untilMonotonicMs;

  const drop = (key: string): void => {
    const entry = kept.get(key);
    if (entry === undefined) return;
    kept.delete(key);
    characters -= lengthOf(entry);
  };
  const keep = (key: string, entry: Kept): void => {
    drop(key);
    kept.set(key, entry);
    characters += lengthOf(entry);
    for (const oldest of kept.keys()) {
      if (kept.size <= maxKept && characters <= maxCharacters) break;
      drop(oldest);
    }
  };

  const atHand = (whom: MintedFor): Minted | undefined => {
    const key = keyOf(whom);
    const found = kept.get(key);
    if (found === undefined) return undefined;
    drop(key);
    if (!isFresh(found)) return undefined;
    keep(key, found);
    return found.minted;
  };

  const make = async (whom: MintedFor, mint: () => Promise<NewCredential>): Promise<Minted> => {
    // Before the call: the life of what it gives has begun by its end.
    const fromMs = clock.now();
    const fromMonotonicMs = clock.monotonic();
    const { accessToken, expiryMs } = await mint();
    if (expiryMs === undefined) return { accessToken };
    const minted = { accessToken, expiryTime: formatTime(expiryMs) };
    const freshMs = (expiryMs - fromMs) * FRESH_PART;
    if (freshMs <= 0) return minted;
    const [untilMs, untilMonotonicMs] = [fromMs + freshMs, fromMonotonicMs + freshMs];
    keep(keyOf(whom), { whom, minted, fromMs, untilMs, untilMonotonicMs });
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
      // One look for each name: thousands of callers may have something of a few.
      const names = new Set([...kept.values()].map(({ whom }) => whom.serviceName));
      const live = new Map([...names].map((name) => [name, liveVersion(name)]));
      for (const [key, entry] of kept)
        if (!isFresh(entry) || live.get(entry.whom.serviceName) !== entry.whom.version) drop(key);
    },
  };
}

const lengthOf = ({ minted }: Kept): number => minted.accessToken.reveal().length;

const keyOf = ({ serviceName, version, caller }: MintedFor): string =>
  JSON.stringify([serviceName, version, caller]);
