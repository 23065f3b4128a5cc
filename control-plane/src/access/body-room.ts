import type { Id } from '@svault/shared';

const MIB = 1024 * 1024;
/** As many bytes of large bodies as this process holds at once, or it would be out of memory. */
const MAX_BYTES = 256 * MIB;
/** Those of one account among them, so that it leaves room for others. */
const MAX_BYTES_PER_ACCOUNT = 64 * MIB;

/** Room for the body of one exchange. */
export interface BodyPlace {
  /** Gives back all but so many bytes, once the body is there. */
  keep(bytes: number): void;
  /** Gives all of it back; once or more often. */
  close(): void;
}

/** Counts the bytes of large bodies, which are held until their exchange is over. */
export interface BodyRoom {
  /** @returns undefined where there is no room for so many bytes */
  take(vaultId: Id<'vlt'>, bytes: number): BodyPlace | undefined;
}

export function createBodyRoom({
  maxBytes = MAX_BYTES,
  maxBytesPerAccount = MAX_BYTES_PER_ACCOUNT,
} = {}): BodyRoom {
  const held = new Map<Id<'vlt'>, number>();
  let all = 0;

  const giveBack = (vaultId: Id<'vlt'>, bytes: number): void => {
    all -= bytes;
    const left = (held.get(vaultId) ?? bytes) - bytes;
    if (left === 0) held.delete(vaultId);
    else held.set(vaultId, left);
  };

  return {
    take: (vaultId, bytes) => {
      const ofOne = (held.get(vaultId) ?? 0) + bytes;
      if (ofOne > maxBytesPerAccount || all + bytes > maxBytes) return undefined;
      held.set(vaultId, ofOne);
      all += bytes;
      let taken = bytes;
      const keep = (kept: number): void => {
        if (kept >= taken) return;
        giveBack(vaultId, taken - kept);
        taken = kept;
      };
      return { keep, close: () => keep(0) };
    },
  };
}
