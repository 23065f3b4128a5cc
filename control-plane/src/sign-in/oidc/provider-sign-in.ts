import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import type { SignedIn } from '../sessions.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { signInExpired } from './provider-refusal.ts';
import type { SignInByIdentity } from './sign-in-by-identity.ts';
import { openTransaction, sealTransaction } from './login-state.ts';

/** A sign-in by way of the identity provider, from the browser's leaving to its coming back. */
export interface ProviderSignIn {
  /** @throws AppError PROVIDER_UNAVAILABLE */
  begin(
    returnTo: string | undefined,
  ): Promise<{ readonly url: string; /** For the browser's cookie. */ readonly sealed: string }>;
  /**
   * @param input.query of the callback, as it came
   * @param input.sealed from the browser's cookie
   * @param input.admit is asked once the sign-in is known to be this browser's, before the provider is
   * @throws AppError SIGN_IN_EXPIRED, SIGN_IN_DENIED, SIGN_IN_FAILED, NO_ACCOUNT, PROVIDER_UNAVAILABLE
   */
  finish(input: {
    readonly query: URLSearchParams;
    readonly sealed: string | undefined;
    readonly client: string;
    readonly admit: () => Promise<void>;
  }): Promise<{ readonly signedIn: SignedIn; readonly returnTo: string | undefined }>;
}

export function createProviderSignIn(options: {
  readonly provider: IdentityProvider;
  readonly signInByIdentity: SignInByIdentity;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
}): ProviderSignIn {
  const { provider, signInByIdentity, masterKeys, clock } = options;
  return {
    begin: async (returnTo) => {
      const { url, transaction } = await provider.begin();
      return { url, sealed: sealTransaction(masterKeys, { ...transaction, returnTo }, clock) };
    },
    finish: async ({ query, sealed, client, admit }) => {
      const transaction = openTransaction(masterKeys, sealed, clock);
      if (transaction === undefined) throw signInExpired('no transaction of this browser');
      // Before the provider is asked: a callback that was not begun here costs it nothing.
      if (query.get('state') !== transaction.state) throw signInExpired('another state');
      await admit();
      const person = await provider.finish(query, transaction);
      return { signedIn: await signInByIdentity(person, client), returnTo: transaction.returnTo };
    },
  };
}
