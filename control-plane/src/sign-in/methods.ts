import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import type { DenialCounter } from '../audit/denial-counter.ts';
import { refusal } from '../core/errors.ts';
import type { IdentityProvider, ProviderOptions, ProviderSettings } from './oidc/identity-provider.ts';
import { statedIssuer } from './oidc/issuer.ts';
import { type ProviderSignIn, createProviderSignIn } from './oidc/provider-sign-in.ts';
import { createSignInByIdentity } from './oidc/sign-in-by-identity.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { createPasswords } from './passwords.ts';
import { type PasswordSetting, createPasswordSetting } from './set-password.ts';
import { type SignInByPassword, createSignInByPassword } from './sign-in-by-password.ts';

/** Our redirect URI, which the provider has to know. */
export const OIDC_CALLBACK_PATH = '/api/login/oidc/callback';

/** How people sign in beside the operator's one-time link: by passwords kept here, or at an identity provider. */
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
      /** What the provider says that its issuer is. @throws Error where it does not say */
      readonly statedIssuer: () => Promise<string>;
    };

/** Of what has to do with passwords, where an identity provider vouches for people and none are kept. */
export const noPasswordsHere = (): Error =>
  refusal('NOT_FOUND', 'People sign in at the identity provider here: GET /api/login/oidc.');

interface Dependencies {
  readonly stores: Pick<Stores, 'passwords' | 'sessions' | 'users'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
}

export function passwordMethod({
  stores,
  unitOfWork,
  denials,
  clock,
}: Dependencies & { readonly denials: Pick<DenialCounter, 'count'> }): SignInMethods {
  const passwords = createPasswords();
  return {
    kind: 'password',
    signInByPassword: createSignInByPassword({ stores, unitOfWork, passwords, denials, clock }),
    passwordSetting: createPasswordSetting({ stores, passwords, denials, clock }),
  };
}

export function providerMethod(
  settings: ProviderSettings & { readonly signUp: boolean },
  options: ProviderOptions & Pick<Dependencies, 'unitOfWork'> & { readonly masterKeys: MasterKeys },
): SignInMethods {
  const { issuer, signUp } = settings;
  const { unitOfWork, clock, masterKeys } = options;
  const provider = identityProvider(settings, options);
  const signInByIdentity = createSignInByIdentity({ unitOfWork, signUp, clock });
  const providerSignIn = createProviderSignIn({ provider, signInByIdentity, masterKeys, clock });
  return {
    kind: 'provider',
    issuer,
    providerSignIn,
    statedIssuer: () => statedIssuer(options.egress, issuer),
  };
}

/** Its library is loaded when the first person comes: it takes 8 MiB. */
function identityProvider(settings: ProviderSettings, options: ProviderOptions): IdentityProvider {
  let loaded: Promise<IdentityProvider> | undefined;
  const load = (): Promise<IdentityProvider> =>
    (loaded ??= import('./oidc/identity-provider.ts').then(({ createIdentityProvider }) =>
      createIdentityProvider(settings, options),
    ));
  return {
    begin: async () => (await load()).begin(),
    finish: async (query, transaction) => (await load()).finish(query, transaction),
  };
}
