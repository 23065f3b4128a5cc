import { randomUUID } from 'node:crypto';
import { type Clock, constantTimeEqual, sha256, utf8 } from '@svault/shared';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import { ApiError } from '../errors.ts';
import { type BindingStore, type SecretWrapper, type StoredCode, codePurpose } from './binding-store.ts';

/** PROTOCOL.md section 5.1: how long a code is valid. */
const CODE_LIFETIME_MS = 5 * 60_000;
/** PROTOCOL.md section 5.1: for how long after that the answer is CODE_USED or CODE_EXPIRED. */
const CODE_MEMORY_MS = 5 * 60_000;

type CodeTimes = Pick<StoredCode, 'codeHash' | 'expiresAtMs'>;

/** SHA-256 of a code's 36 ASCII bytes, all that is stored of it. */
export const codeHashOf = (code: string): Buffer => sha256(utf8(code));

/** @param deps.latestMs the later of wall clock and time floor, milliseconds since 1970 */
export function createBindingCodes(deps: {
  readonly bindings: BindingStore;
  readonly secrets: SecretWrapper;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly latestMs: () => number;
  readonly commit: GroupCommit;
}) {
  const { bindings, secrets, clock, latestMs, commit } = deps;
  // Before the first binding nothing has confirmed the wall clock, so there is no time floor. A code therefore expires
  // by the monotonic clock as well, from when this process first saw it: `bind-link` makes it in another process.
  let seen: { readonly hash: Uint8Array; readonly endsAtMonotonicMs: number } | undefined;
  const monotonicEndOf = ({ codeHash, expiresAtMs }: CodeTimes): number => {
    if (seen === undefined || !constantTimeEqual(seen.hash, codeHash)) {
      const leftMs = Math.min(CODE_LIFETIME_MS, expiresAtMs - latestMs());
      seen = { hash: codeHash, endsAtMonotonicMs: clock.monotonic() + leftMs };
    }
    return seen.endsAtMonotonicMs;
  };
  const hasEnded = (code: CodeTimes, graceMs: number): boolean =>
    latestMs() >= code.expiresAtMs + graceMs || clock.monotonic() >= monotonicEndOf(code) + graceMs;

  return {
    /**
     * Makes a code for a secret. It voids any former code and discards a binding that was not completed.
     *
     * @param secret 32 random bytes
     * @returns the code, a UUID in lower case that is shown once, and its expiry in milliseconds since 1970
     * @throws ApiError SETUP_REQUIRED if a binding is complete, or a restore was not followed by `unseal-bind`
     */
    make: async (secret: Uint8Array) => {
      const code = randomUUID();
      const codeHash = codeHashOf(code);
      const expiresAtMs = latestMs() + CODE_LIFETIME_MS;
      const refused = await commit.run(() => {
        if (bindings.binding()?.complete === true) return alreadyBound();
        if (bindings.needsUnseal()) return needsUnseal();
        bindings.erase();
        bindings.putCode({
          codeHash,
          expiresAtMs,
          wrappedSecret: secrets.wrap(secret, codePurpose(codeHash)),
        });
        return undefined;
      });
      if (refused !== undefined) throw refused;
      monotonicEndOf({ codeHash, expiresAtMs });
      return { code, expiresAtMs };
    },
    isExpired: (code: CodeTimes): boolean => hasEnded(code, 0),
    /** Whether a code is answered like an unknown one: then an exchange need not be read. */
    isForgotten: (code: CodeTimes): boolean => hasEnded(code, CODE_MEMORY_MS),
  };
}

export type BindingCodes = ReturnType<typeof createBindingCodes>;

/** PROTOCOL.md section 5.1: the answer of the bind page after the binding is complete. */
export function alreadyBound(): Error {
  return new ApiError(
    'SETUP_REQUIRED',
    'this webhook is bound; to bind it again run unseal-bind on its machine, which erases its keys',
  );
}

/** A backup may be older than the owner's last decision, so only the owner, on the machine, may allow a new binding. */
export function needsUnseal(): Error {
  return new ApiError(
    'SETUP_REQUIRED',
    'this webhook was restored from a backup; to bind it run unseal-bind on its machine',
  );
}
