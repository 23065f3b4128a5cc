import { randomUUID } from 'node:crypto';
import { type Clock, constantTimeEqual, sha256, utf8 } from '@svault/shared';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { TimeFloor } from '../replay/time-floor.ts';
import { refusal } from '../errors.ts';
import { type BindingStore, type SecretWrapper, type StoredCode, codePurpose } from './binding-store.ts';

/** Protocol section 5.1: the life of a code. */
const CODE_LIFETIME_MS = 5 * 60_000;
/** Protocol section 5.1: so long after its end its owner is still told that it was used or is late. */
const CODE_MEMORY_MS = 5 * 60_000;

export interface MintedCode {
  /** UUID in lower case. Shown once, in the registration link. */
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

export interface BindingCodes {
  /**
   * Mints a code for a secret. Any former code is void with it, and a binding that was not completed is discarded.
   *
   * @param secret 32 random bytes
   * @throws AppError SETUP_REQUIRED where a binding is complete, or a restore was not followed by `unseal-bind`
   */
  mint(secret: Uint8Array): Promise<MintedCode>;
  /** Whether a code's time is over. */
  isLate(code: Pick<StoredCode, 'codeHash' | 'expiresAtMs'>): boolean;
  /** Whether a code is answered as one that there never was: then no exchange is worth reading. */
  isForgotten(code: Pick<StoredCode, 'codeHash' | 'expiresAtMs'>): boolean;
}

/** SHA-256 of a code's 36 ASCII bytes, all that is kept of it. */
export const codeHashOf = (code: string): Buffer => sha256(utf8(code));

export function createBindingCodes(deps: {
  readonly store: BindingStore;
  readonly secrets: SecretWrapper;
  readonly clock: Clock;
  readonly floor: Pick<TimeFloor, 'latestMs'>;
  readonly commit: GroupCommit;
}): BindingCodes {
  const { store, secrets, clock, floor, commit } = deps;
  // Before the first binding no service has confirmed the wall clock, so there is no floor yet. A code therefore ends
  // by the monotonic clock as well, from when this process first saw it: `bind-link` mints in a process of its own.
  let seen: { readonly hash: Uint8Array; readonly endsAtMonotonicMs: number } | undefined;
  const endOf = ({ codeHash, expiresAtMs }: Pick<StoredCode, 'codeHash' | 'expiresAtMs'>): number => {
    if (seen === undefined || !constantTimeEqual(seen.hash, codeHash)) {
      const leftMs = Math.min(CODE_LIFETIME_MS, expiresAtMs - floor.latestMs());
      seen = { hash: codeHash, endsAtMonotonicMs: clock.monotonic() + leftMs };
    }
    return seen.endsAtMonotonicMs;
  };

  const isOver = (code: Parameters<BindingCodes['isLate']>[0], graceMs: number): boolean =>
    floor.latestMs() >= code.expiresAtMs + graceMs || clock.monotonic() >= endOf(code) + graceMs;

  return {
    mint: async (secret) => {
      const code = randomUUID();
      const codeHash = codeHashOf(code);
      const expiresAtMs = floor.latestMs() + CODE_LIFETIME_MS;
      const refused = await commit.run(() => {
        if (store.binding()?.complete === true) return boundAlready();
        if (store.needsUnseal()) return unsealFirst();
        store.erase();
        store.putCode({ codeHash, expiresAtMs, wrappedSecret: secrets.wrap(secret, codePurpose(codeHash)) });
        return undefined;
      });
      if (refused !== undefined) throw refused;
      endOf({ codeHash, expiresAtMs });
      return { code, expiresAtMs };
    },
    isLate: (code) => isOver(code, 0),
    isForgotten: (code) => isOver(code, CODE_MEMORY_MS),
  };
}

/** Protocol section 5.1: the answer of the bind page once it is sealed. */
export function boundAlready(): Error {
  return refusal(
    'SETUP_REQUIRED',
    'this webhook is bound; to bind it again run unseal-bind on its machine, which erases its keys',
  );
}

/** A backup may be older than what was decided since: its owner, on the machine, says that it may be bound anew. */
export function unsealFirst(): Error {
  return refusal(
    'SETUP_REQUIRED',
    'this webhook was restored from a backup; to bind it run unseal-bind on its machine',
  );
}
