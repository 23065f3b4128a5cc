import { alertText, hiddenField, showButton } from '@svault/server-kit/page-parts';
import type { OriginReader } from '../http/request-origin.ts';
import { methodNotAllowed } from '@svault/server-kit/request-handler';
import { type SafeHtml, safeHtml } from '@svault/server-kit/safe-html';
import { type Request, type Response, Router } from 'express';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import type { User } from '../../core/user.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import { endSession } from '../../sign-in/sessions.ts';
import type { SignInByPassword } from '../../sign-in/sign-in-by-password.ts';
import type { ConsolePath } from '../console/built-files.ts';
import type { SessionCookie } from '../http/cookies.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import {
  type PageContent,
  isKnownError,
  pageAt,
  pageRoute,
  readFormBody,
  sendPage,
  statusOf,
  messageOf,
} from './page.ts';
import type { PageSession, SetSessionCookie } from './page-session.ts';
import { localPath } from './return-to.ts';

interface SignInPageDependencies {
  readonly baseUrl: string;
  readonly stores: Pick<Stores, 'users'>;
  readonly unitOfWork: UnitOfWork;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly originOf: OriginReader;
  readonly pageSession: PageSession;
  readonly cookie: SessionCookie;
  readonly setSessionCookie: SetSessionCookie;
  readonly consolePath: ConsolePath;
  /** One of the two. */
  readonly signInByPassword: SignInByPassword | undefined;
  readonly issuer: string | undefined;
}

/** The page where people sign in, and from where they go on to where they were going. */
export function createSignInPage(dependencies: SignInPageDependencies): Router {
  const { stores, unitOfWork, limits, originOf, pageSession, cookie, setSessionCookie, consolePath } =
    dependencies;
  const { signInByPassword, issuer, baseUrl } = dependencies;

  const show = async (req: Request, res: Response): Promise<void> => {
    const returnTo = localPath(req.query['returnTo']);
    const actor = await pageSession.actor(req);
    const user = actor && (await stores.users.get(actor.vaultId, actor.userId));
    if (user !== undefined && returnTo !== undefined) return res.redirect(303, returnTo);
    if (user !== undefined)
      return sendPage(res, 200, signedInPage(user, { withPasswords: issuer === undefined, baseUrl }));
    sendPage(
      res,
      200,
      issuer === undefined ? passwordFormPage({ returnTo }) : providerPage(issuer, returnTo),
    );
  };

  const signIn = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireSameOrigin(req);
    if (signInByPassword === undefined) throw noPasswordsHere();
    await limits.countAddress('password_login', req);
    const { email = '', password = '', returnTo: wanted } = await readFormBody(req);
    const returnTo = localPath(wanted);
    const again = (status: number, message: string): void =>
      sendPage(res, status, passwordFormPage({ returnTo, email, message }));
    try {
      const client = req.get('user-agent') ?? '';
      const origin = originOf(req, 'console');
      const signedIn = await signInByPassword({ email, password, client, origin });
      if (signedIn === undefined) return again(401, 'E-mail or password is wrong.');
      res.setHeader('Set-Cookie', await setSessionCookie(req.get('cookie'), signedIn));
      res.redirect(303, returnTo ?? consolePath('/') ?? SIGN_IN_PATH);
    } catch (error) {
      if (!isKnownError(error)) throw error;
      again(statusOf(res, error), messageOf(error));
    }
  };

  const signOut = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireSameOrigin(req);
    const actor = await pageSession.actor(req);
    if (actor !== undefined) {
      const { vaultId, userId, credentialId } = actor;
      await unitOfWork.run(vaultId, (inside) => endSession(inside, actor, credentialId, userId));
    }
    res.setHeader('Set-Cookie', cookie.clear());
    res.redirect(303, SIGN_IN_PATH);
  };

  return Router({ caseSensitive: true, strict: true })
    .use(pageAt(SIGN_IN_PATH, { show, submit: signIn }))
    .post(SIGN_OUT_PATH, pageRoute(signOut))
    .all(SIGN_OUT_PATH, methodNotAllowed(['POST']));
}

export const SIGN_IN_PATH = '/login';
const SIGN_OUT_PATH = '/login/out';
export const PASSWORD_PATH = '/login/password';

/** Where a signed-in person goes on to: the console, or the account page where that is not built. */
export const homeLink = (consolePath: ConsolePath): SafeHtml => {
  const path = consolePath('/');
  return path === undefined
    ? safeHtml`<a href="${SIGN_IN_PATH}">your account</a>`
    : safeHtml`<a href="${path}">the console</a>`;
};

/** Where a browser signs in before it goes on to an own path. */
export const signInPathFor = (path: string): string => `${SIGN_IN_PATH}?${returning(path)}`;

const returning = (path: string): string => new URLSearchParams({ returnTo: path }).toString();

/** @param message why the form did not get through; @param email what was typed into it */
function passwordFormPage(options: {
  readonly returnTo: string | undefined;
  readonly message?: string | undefined;
  readonly email?: string | undefined;
}): PageContent {
  const { returnTo, message, email = '' } = options;
  const focus = (here: boolean): string => (here ? ' autofocus' : '');
  return {
    name: 'sign-in',
    title: 'Sign in',
    usesScript: true,
    body: safeHtml`${message === undefined ? undefined : alertText(message)}
<form method="post" action="${SIGN_IN_PATH}">
${returnTo === undefined ? undefined : hiddenField('returnTo', returnTo)}
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254" value="${email}"${focus(email === '')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${focus(email !== '')}>
${showButton('password')}
<button type="submit">Sign in</button>
</form>`,
    next: safeHtml`<p class="dim">No password yet, or forgotten? A one-time link signs you in. An admin of your account creates one; the owner's
is printed by <code>owner-link</code> on the control plane's machine.${
      returnTo === undefined ? '' : ' Then load this page again, and it takes you on.'
    }</p>`,
  };
}

/** @param issuer the identity provider's address */
function providerPage(issuer: string, returnTo: string | undefined): PageContent {
  const query = returnTo === undefined ? '' : `?${returning(returnTo)}`;
  return {
    name: 'sign-in-at-provider',
    title: 'Sign in',
    body: safeHtml`<p>Your account is at your identity provider.</p>
<p><a class="button" href="/api/login/oidc${query}">Sign in at ${new URL(issuer).host}</a></p>`,
    next: safeHtml`<p class="dim">The provider does not let you in? Ask an admin of your account. The owner also gets in by the link that
<code>owner-link</code> prints on the control plane's machine.</p>`,
  };
}

function signedInPage(
  user: User,
  { withPasswords, baseUrl }: { readonly withPasswords: boolean; readonly baseUrl: string },
): PageContent {
  const role = user.isOwner ? 'owner' : user.role;
  const password = safeHtml`<li><a href="${PASSWORD_PATH}">Set or change your password</a></li>`;
  const webhook = safeHtml`<li>Connect the webhook that holds your credentials: open its <code>/bind</code> page.</li>`;
  return {
    name: 'signed-in',
    title: 'You are signed in',
    account: user.email,
    body: safeHtml`<p>as <code>${user.email}</code> (${role}).</p>
<form method="post" action="${SIGN_OUT_PATH}">
<button type="submit" class="quiet">Sign out</button>
</form>`,
    next: safeHtml`<h2>Next</h2>
<ul>
<li><a href="/">Open the console</a></li>
${withPasswords ? password : undefined}
<li>Work from your terminal: <code>svault login --base-url ${baseUrl}</code></li>
${user.role === 'admin' ? webhook : undefined}
</ul>`,
  };
}
