import { type Secret, constantTimeEqual, randomToken, sha256, utf8 } from '@svault/shared';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { BindingStore } from './binding-store.ts';

/** Twice the 128 bits that protocol section 5.1 asks for; 43 characters are pasted, not typed. */
const SETUP_TOKEN_BYTES = 32;

type SetupTokenStore = Pick<BindingStore, 'setupTokenHash' | 'putSetupTokenHash'>;

/** Whether a text is the set-up token: the configured one if there is one, else the one that was made. */
export function createSetupTokenCheck(deps: {
  readonly configured: Secret | undefined;
  readonly store: SetupTokenStore;
}): (text: string) => boolean {
  const configuredHash = deps.configured === undefined ? undefined : sha256(utf8(deps.configured.reveal()));
  return (text) => {
    const expected = configuredHash ?? deps.store.setupTokenHash();
    // Hashes have one length, so the comparison tells nothing of the token's.
    return expected !== undefined && constantTimeEqual(sha256(utf8(text)), expected);
  };
}

/**
 * Makes the set-up token at first start. Only its hash is kept: the text returned is to be printed once.
 *
 * @returns undefined where one is configured or was made before
 */
export async function makeFirstSetupToken(deps: {
  readonly configured: Secret | undefined;
  readonly store: SetupTokenStore;
  readonly commit: GroupCommit;
}): Promise<string | undefined> {
  if (deps.configured !== undefined) return undefined;
  const token = randomToken(SETUP_TOKEN_BYTES);
  return deps.commit.run(() => {
    if (deps.store.setupTokenHash() !== undefined) return undefined;
    deps.store.putSetupTokenHash(sha256(utf8(token)));
    return token;
  });
}

/** A new set-up token in place of any former one, inside an open transaction; the text is to be printed once. */
export function replaceSetupTokenNow(store: SetupTokenStore): string {
  const token = randomToken(SETUP_TOKEN_BYTES);
  store.putSetupTokenHash(sha256(utf8(token)));
  return token;
}
