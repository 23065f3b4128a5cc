import type { OriginReader } from '../http/request-origin.ts';
import { Router } from 'express';
import { pageHeaders } from '@svault/server-kit/security-headers';
import type { Logger } from '@svault/server-kit/logger';
import type { Clock } from '@svault/shared';
import type { SignInMethods } from '../../sign-in/methods.ts';
import type { SessionCookie } from '../http/cookies.ts';
import type { PageSession, SetSessionCookie } from './page-session.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import type { WebhookBinder } from '../../webhook/binding.ts';
import type { ConsolePath } from '../console/built-files.ts';
import { createBindPage } from './bind-page.ts';
import { createCliPage } from './cli-page.ts';
import { createLoginPage } from './login-page.ts';
import { OIDC_PATH, createOidcRoutes } from './oidc-routes.ts';
import { createPasswordPage } from './password-page.ts';
import { SIGN_IN_PATH, createSignInPage } from './sign-in-page.ts';

/** Every page but OAuth's: those by which people sign in, and the one that binds a webhook. */
export function createPages(options: {
  readonly baseUrl: string;
  readonly stores: Pick<
    Stores,
    'cliLogins' | 'loginLinks' | 'passwords' | 'users' | 'vaults' | 'webhookLinks'
  >;
  readonly binder: WebhookBinder;
  readonly unitOfWork: UnitOfWork;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly originOf: OriginReader;
  readonly pageSession: PageSession;
  readonly cookie: SessionCookie;
  readonly setSessionCookie: SetSessionCookie;
  readonly consolePath: ConsolePath;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly https: boolean;
  readonly signInMethods: SignInMethods;
}): Router {
  const { signInMethods, https } = options;
  const [password, provider] =
    signInMethods.kind === 'password' ? [signInMethods, undefined] : [undefined, signInMethods];
  return (
    Router({ caseSensitive: true, strict: true })
      // A consent may be behind it, in the window of a client that is a page (`oauth/authorize.ts`).
      .use([SIGN_IN_PATH, OIDC_PATH], pageHeaders({ https, keepsOpener: true }))
      .use(createLoginPage({ ...options, withPasswords: password !== undefined }))
      .use(
        createSignInPage({
          ...options,
          signInByPassword: password?.signInByPassword,
          issuer: provider?.issuer,
        }),
      )
      .use(createPasswordPage({ ...options, setting: password?.passwordSetting }))
      .use(createOidcRoutes({ ...options, providerSignIn: provider?.providerSignIn }))
      .use(createCliPage(options))
      .use(createBindPage(options))
  );
}
