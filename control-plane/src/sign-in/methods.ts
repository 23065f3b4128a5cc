import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import type { DenialCounter } from '../audit/denial-counter.ts';
import { ApiError } from '../core/errors.ts';
import type { IdentityProvider, ProviderOptions, ProviderSettings } from './oidc/provider.ts';
import { statedIssuer } from './oidc/issuer.ts';
import { type ProviderSignIn, createProviderSignIn } from './oidc/provider-sign-in.ts';
import { createSignInByIdentity } from './oidc/sign-in-by-identity.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { createPasswords } from './passwords.ts';
import { type PasswordSetting, createPasswordSetting } from './set-password.ts';
import { type SignInByPassword, createSignInByPassword } from './sign-in-by-password.ts';

/** Path of the redirect URI, which is registered at the provider. */
export const OIDC_CALLBACK_PATH = '/api/login/oidc/callback';

/** How users sign in, besides the operator's one-time link: by a password, or at an identity provider. */
export type SignInMethods =
  | {
      readonly kind: 'password';
      readonly signInByPassword: SignInByPassword;
      readonly passwordSetting: PasswordSetting;
    }
  | {
      readonly kind: 'provider';
      readonly issuer: string;
      readonly providerSignIn: ProviderSignIn;
      /** The issuer that the provider's metadata name. @throws Error without metadata */
      readonly statedIssuer: () => Promise<string>;
    };

/** The error of password operations where users sign in at an identity provider. */
export const noPasswordsHere = (): Error =>
  new ApiError('NOT_FOUND', 'People sign in at the identity provider here: GET /api/login/oidc.');

interface Dependencies {
  readonly stores: Pick<Stores, 'passwords' | 'sessions' | 'users'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
}

export function passwordSignIn(
  options: Dependencies & { readonly denials: Pick<DenialCounter, 'count'> },
): SignInMethods {
  const passwords = createPasswords();
  return {
    kind: 'password',
    signInByPassword: createSignInByPassword({ ...options, passwords }),
    passwordSetting: createPasswordSetting({ ...options, passwords }),
  };
}

export function oidcSignIn(
  settings: ProviderSettings & { readonly signUp: boolean },
  options: Omit<ProviderOptions, 'timeoutMs'> &
    Pick<Dependencies, 'unitOfWork'> & {
      readonly masterKeys: MasterKeys;
      readonly timeoutMs: number | undefined;
    },
): SignInMethods {
  const { issuer, signUp } = settings;
  const { unitOfWork, clock, masterKeys, timeoutMs = 5_000 } = options;
  const provider = identityProvider(settings, { ...options, timeoutMs });
  const signInByIdentity = createSignInByIdentity({ unitOfWork, signUp, clock });
  const providerSignIn = createProviderSignIn({ provider, signInByIdentity, masterKeys, clock });
  return {
    kind: 'provider',
    issuer,
    providerSignIn,
    statedIssuer: () => statedIssuer(options.egress, issuer, timeoutMs),
  };
}

/** Its library takes 8 MiB, so it is loaded with the first sign-in. */
function identityProvider(settings: ProviderSettings, options: ProviderOptions): IdentityProvider {
  let loaded: Promise<IdentityProvider> | undefined;
  const load = (): Promise<IdentityProvider> =>
    (loaded ??= import('./oidc/provider.ts').then(({ createIdentityProvider }) =>
      createIdentityProvider(settings, options),
    ));
  return {
    begin: async () => (await load()).begin(),
    finish: async (query, transaction) => (await load()).finish(query, transaction),
  };
}
