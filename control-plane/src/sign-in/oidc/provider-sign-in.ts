import type { SignInClient } from '../sessions.ts';
import type { IdentityProvider, SignInTransaction } from './provider.ts';
import { AeadFailed } from '@svault/server-kit/aead';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, fromBase64url, toBase64url, utf8 } from '@svault/shared';
import { ApiError } from '../../core/errors.ts';
import type { SignInByIdentity } from './sign-in-by-identity.ts';

/** A sign-in at the identity provider, from the redirect there to the callback. */
export type ProviderSignIn = ReturnType<typeof createProviderSignIn>;

interface Callback {
  /** As it came. */
  readonly query: URLSearchParams;
  /** From the browser's cookie. */
  readonly sealed: string | undefined;
  readonly client: SignInClient;
  /** Runs once the sign-in is known to be this browser's, before the provider is called. */
  readonly admit: () => Promise<void>;
}

export function createProviderSignIn(options: {
  readonly provider: IdentityProvider;
  readonly signInByIdentity: SignInByIdentity;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
}) {
  const { provider, signInByIdentity, masterKeys, clock } = options;
  return {
    /** @returns `sealed` for the browser's cookie @throws ApiError PROVIDER_UNAVAILABLE */
    begin: async (returnTo: string | undefined) => {
      const { url, transaction } = await provider.begin();
      return { url, sealed: sealTransaction(masterKeys, { ...transaction, returnTo }, clock) };
    },
    /** @throws ApiError SIGN_IN_EXPIRED, SIGN_IN_DENIED, SIGN_IN_FAILED, NO_ACCOUNT, PROVIDER_UNAVAILABLE */
    finish: async ({ query, sealed, client, admit }: Callback) => {
      const transaction = openTransaction(masterKeys, sealed, clock);
      if (transaction === undefined) throw signInExpired('no transaction of this browser');
      // RFC 6749 section 10.12, before the provider is called: a forged callback costs it nothing.
      if (query.get('state') !== transaction.state) throw signInExpired('another state');
      await admit();
      const person = await provider.finish(query, transaction);
      return { signedIn: await signInByIdentity(person, client), returnTo: transaction.returnTo };
    },
  };
}

const TRANSACTION_LIFETIME_MS = 10 * 60_000;
const PURPOSE = 'oidc-sign-in';

/** Only this service can read or make a sealed transaction, and it stores nothing for browsers that never come back. */
function sealTransaction(keys: MasterKeys, transaction: SignInTransaction, clock: Clock): string {
  const content = { ...transaction, expiresAt: clock.now() + TRANSACTION_LIFETIME_MS };
  return toBase64url(keys.wrap(utf8(JSON.stringify(content)), PURPOSE));
}

/** @returns undefined for what was not sealed by this service, or has expired */
function openTransaction(
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

/** This browser began no sign-in, or began it too long ago, or finished it already. */
const signInExpired = (reason: string): ApiError =>
  new ApiError(
    'SIGN_IN_EXPIRED',
    'This sign-in was not begun in this browser, or too long ago. Begin again.',
    { reason },
  );
