import type { OriginReader } from '../http/request-origin.ts';
import type { Request, Response, Router } from 'express';
import type { Clock } from '@svault/shared';
import { hiddenField } from '@svault/server-kit/page-parts';
import { safeHtml } from '@svault/server-kit/safe-html';
import { signInByLink, userOfLoginLink } from '../../sign-in/login-link.ts';
import type { SignedIn } from '../../sign-in/sessions.ts';
import type { User } from '../../core/user.ts';
import { type PageContent, pageAt, readFormBody, sendPage } from './page.ts';
import type { PageSession, SetSessionCookie } from './page-session.ts';
import type { ConsolePath } from '../console/built-files.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import { PASSWORD_PATH, SIGN_IN_PATH } from './sign-in-page.ts';

const PATH = '/login/link';

/** The page behind a one-time link. Its button consumes the link, not opening it: mail and chat programs open links. */
export function createLoginPage(options: {
  readonly stores: Pick<Stores, 'loginLinks' | 'passwords' | 'users'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
  readonly originOf: OriginReader;
  readonly setSessionCookie: SetSessionCookie;
  readonly consolePath: ConsolePath;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly pageSession: Pick<PageSession, 'requireSameOrigin'>;
  /** False where people sign in at an identity provider. */
  readonly withPasswords: boolean;
}): Router {
  const {
    stores,
    unitOfWork,
    clock,
    originOf,
    setSessionCookie,
    consolePath,
    limits,
    pageSession,
    withPasswords,
  } = options;

  /** The ten minutes after a sign-in by link are when a first password needs no further proof. */
  const mayWantPassword = async ({ id }: User): Promise<boolean> =>
    withPasswords && (await stores.passwords.find(id)) === undefined;

  const show = async (req: Request, res: Response): Promise<void> => {
    const { token } = req.query;
    const user = typeof token === 'string' ? await userOfLoginLink(stores, token, clock) : undefined;
    if (typeof token !== 'string' || user === undefined) return sendPage(res, 401, gonePage);
    sendPage(res, 200, buttonPage(token, user, await mayWantPassword(user)));
  };

  const signIn = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireSameOrigin(req);
    await limits.countAddress('link_login', req);
    const { token = '', next } = await readFormBody(req);
    const input = { token, client: req.get('user-agent') ?? '', origin: originOf(req, 'console') };
    const signedIn = await signInByLink({ stores, unitOfWork }, input, clock);
    if (signedIn === undefined) return sendPage(res, 401, gonePage);
    const newCookie = await setSessionCookie(req.get('cookie'), signedIn);
    res.setHeader('Set-Cookie', newCookie);
    const path = next === 'password' && withPasswords ? PASSWORD_PATH : consolePath('/');
    if (path !== undefined) return res.redirect(303, path);
    sendPage(res, 200, welcomePage(signedIn));
  };

  return pageAt(PATH, { show, submit: signIn });
}

/** Names the account: a link that a stranger sent must not sign a person into the stranger's account unnoticed. */
const buttonPage = (token: string, { email }: User, offersPassword: boolean): PageContent => ({
  name: 'link',
  title: 'Sign in',
  body: safeHtml`<p>This link works once. It signs you in as <strong class="name"><bdi>${email}</bdi></strong>.</p>
<form method="post" action="${PATH}">
${hiddenField('token', token)}
<p class="actions"><button type="submit">Sign in</button>
${offersPassword ? passwordButton : undefined}</p>
</form>`,
  next: safeHtml`<p class="dim">Not your address? Close this page: nothing has happened.</p>`,
});

const passwordButton = safeHtml`<button type="submit" name="next" value="password" class="quiet">Sign in and set a password</button>`;

/** Where there is no console to go on to. */
const welcomePage = ({ user }: SignedIn): PageContent => ({
  name: 'link-used',
  title: 'You are signed in',
  account: user.email,
  body: safeHtml`<p>The link is used up.</p>`,
  next: safeHtml`<p>Go on to <a href="${SIGN_IN_PATH}">your account</a>. If a page sent you here to sign in, load it again.</p>`,
});

const gonePage: PageContent = {
  name: 'link-gone',
  title: 'This link is not valid any more',
  body: safeHtml`<p>It was used, or it has expired.</p>`,
  next: safeHtml`<p><a href="${SIGN_IN_PATH}">Sign in another way</a>, or get a new link: an admin of your account can make one. The
owner's is printed by <code>owner-link</code> on the control plane's machine.</p>`,
};
