import { AeadFailed } from '@svault/server-kit/aead';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, fromBase64url, toBase64url, utf8 } from '@svault/shared';

/** What a browser carries from its redirect to the provider until it comes back. */
export interface SignInTransaction {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Own path to go on to. */
  readonly returnTo: string | undefined;
}

/** As long as somebody may take at the provider. */
const TRANSACTION_LIFETIME_MS = 10 * 60_000;

const PURPOSE = 'oidc-sign-in';

/**
 * Seals a transaction for the browser's cookie: nobody else can read or make one, so that a callback which a browser did not
 * begin has none, and the service keeps nothing for those who never come back.
 */
export function sealTransaction(keys: MasterKeys, transaction: SignInTransaction, clock: Clock): string {
  const content = { ...transaction, expiresAt: clock.now() + TRANSACTION_LIFETIME_MS };
  return toBase64url(keys.wrap(utf8(JSON.stringify(content)), PURPOSE));
}

/** @returns undefined for what was not sealed here, and for what is over */
export function openTransaction(
  keys: MasterKeys,
  sealed: string | undefined,
  clock: Clock,
): SignInTransaction | undefined {
  const bytes = sealed === undefined ? undefined : fromBase64url(sealed);
  if (bytes === undefined) return undefined;
  try {
    const text = Buffer.from(keys.unwrap(bytes, PURPOSE)).toString('utf8');
    const { expiresAt, ...transaction } = JSON.parse(text) as SignInTransaction & { expiresAt: number };
    const leftMs = expiresAt - clock.now();
    return leftMs > 0 && leftMs <= TRANSACTION_LIFETIME_MS ? transaction : undefined;
  } catch (error) {
    if (error instanceof AeadFailed) return undefined;
    throw error;
  }
}
