import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import { type ProviderSettings, createIdentityProvider } from '../identity-provider/identity-provider.ts';
import { type ProviderSignIn, createProviderSignIn } from '../identity-provider/provider-sign-in.ts';
import { createSignInByIdentity } from '../identity-provider/sign-in-by-identity.ts';
import type { Stores, UnitOfWork } from '../unit-of-work.ts';
import { createPasswords } from './passwords.ts';
import { type PasswordSetting, createPasswordSetting } from './set-password.ts';
import { type SignInByPassword, createSignInByPassword } from './sign-in-by-password.ts';

/** Our redirect URI, which the provider has to know. */
export const OIDC_CALLBACK_PATH = '/api/login/oidc/callback';

/** How people sign in beside the operator's one-time link: by passwords kept here, or at an identity provider. */
export type WaysIn =
  | {
      readonly kind: 'password';
      readonly signInByPassword: SignInByPassword;
      readonly passwordSetting: PasswordSetting;
    }
  | { readonly kind: 'provider'; readonly issuer: string; readonly providerSignIn: ProviderSignIn };

interface Dependencies {
  readonly stores: Pick<Stores, 'passwords' | 'sessions' | 'users'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
}

export function passwordWay({ stores, unitOfWork, clock }: Dependencies): WaysIn {
  const passwords = createPasswords();
  return {
    kind: 'password',
    signInByPassword: createSignInByPassword({ stores, unitOfWork, passwords, clock }),
    passwordSetting: createPasswordSetting({ stores, passwords, clock }),
  };
}

export function providerWay(
  settings: ProviderSettings & { readonly signUp: boolean },
  options: Pick<Dependencies, 'unitOfWork' | 'clock'> & {
    readonly egress: Pick<Egress, 'request'>;
    readonly redirectUri: string;
    readonly masterKeys: MasterKeys;
  },
): WaysIn {
  const { issuer, signUp } = settings;
  const { unitOfWork, clock, masterKeys } = options;
  const provider = createIdentityProvider(settings, options);
  const signInByIdentity = createSignInByIdentity({ unitOfWork, signUp, clock });
  const providerSignIn = createProviderSignIn({ provider, signInByIdentity, masterKeys, clock });
  return { kind: 'provider', issuer, providerSignIn };
}
