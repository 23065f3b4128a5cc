import { createSingleFlight } from '@svault/server-kit/single-flight';
import { type Clock, formatTime } from '@svault/shared';
import type { Minted, NewCredential } from './minter.ts';

/** The record and the caller of a minted credential. */
export interface MintedFor {
  readonly serviceName: string;
  readonly version: number;
  /** The ticket's `sub`. */
  readonly caller: string;
}

/** Beyond it the least recently used entries are evicted. */
const MAX_KEPT = 10_000;
/** A provider may give tokens of 64 KiB, and a compromised control plane may name any number of callers. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
const FRESH_PART = 2 / 3;

interface Kept {
  readonly whom: MintedFor;
  readonly minted: Minted;
  readonly fromMs: number;
  readonly untilMs: number;
  /**
   * The same on the monotonic clock: the entry expires by the earlier of the two, since the wall clock may be set back.
   */
  readonly untilMonotonicMs: number;
}

/**
 * Minted credentials, in memory alone, for two thirds of their lifetime.
 *
 * @param options.maxCharacters of all their tokens together
 */
export function createMintedCache(options: {
  readonly clock: Clock;
  readonly maxKept?: number;
  readonly maxCharacters?: number;
}) {
  const { clock, maxKept = MAX_KEPT, maxCharacters = MAX_CHARACTERS } = options;
  /** In the order of last use. */
  const kept = new Map<string, Kept>();
  let characters = 0;
  const mintOnce = createSingleFlight<Minted>();

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
    // Before the call: the credential's lifetime begins during it.
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
    /** The cached credential, otherwise the result of one `mint` for all concurrent callers. A failure is not cached. */
    obtain: async (whom: MintedFor, mint: () => Promise<NewCredential>): Promise<Minted> =>
      atHand(whom) ?? mintOnce(keyOf(whom), () => make(whom, mint)),
    /** Evicts expired entries, and those of versions that are no longer live. */
    tidy: (liveVersion: (serviceName: string) => number | undefined): void => {
      // Once for each name: thousands of callers may share a few.
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
