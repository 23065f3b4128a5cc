import { type Request, type Response, Router } from 'express';
import type { Clock } from '@svault/shared';
import { escapeHtml } from '@svault/server-kit/html-page';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';
import { isLoginLinkLive, signInByLink } from '../accounts/login-link.ts';
import { SESSION_LIFETIME_MS, type SignedIn } from '../accounts/sessions.ts';
import type { SessionCookie } from '../http/cookies.ts';
import { readFormBody } from '../http/form-body.ts';
import type { EndFormerSession } from '../http/former-session.ts';
import type { PageSession } from '../http/page-session.ts';
import type { Stores, UnitOfWork } from '../unit-of-work.ts';
import { type PageContent, hiddenField, sendPage } from './page.ts';
import { PASSWORD_PATH } from './sign-in-page-html.ts';

const PATH = '/login/link';

/**
 * The page behind a one-time link. Opening it uses nothing up, since mail and chat programs open links to preview
 * them; its button does.
 */
export function createLoginPage(options: {
  readonly stores: Pick<Stores, 'loginLinks' | 'passwords'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
  readonly cookie: SessionCookie;
  readonly endFormerSession: EndFormerSession;
  readonly pageSession: Pick<PageSession, 'requireOwnPage'>;
  /** False where people sign in at an identity provider. */
  readonly withPasswords: boolean;
}): Router {
  const { stores, unitOfWork, clock, cookie, endFormerSession, pageSession, withPasswords } = options;

  const show = async (req: Request, res: Response): Promise<void> => {
    const { token } = req.query;
    const live = typeof token === 'string' && (await isLoginLinkLive(stores, token, clock));
    sendPage(res, live ? 200 : 401, live ? buttonPage(token) : gonePage);
  };

  const signIn = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireOwnPage(req);
    const { token = '' } = await readFormBody(req);
    const input = { token, client: req.get('user-agent') ?? '' };
    const signedIn = await signInByLink({ stores, unitOfWork }, input, clock);
    if (signedIn === undefined) return sendPage(res, 401, gonePage);
    await endFormerSession(req.get('cookie'));
    const kept = withPasswords ? await stores.passwords.find(signedIn.user.id) : undefined;
    res.setHeader('Set-Cookie', cookie.set(signedIn.sessionToken, SESSION_LIFETIME_MS / 1_000));
    sendPage(res, 200, welcomePage(signedIn, withPasswords && kept === undefined));
  };

  return Router({ caseSensitive: true, strict: true })
    .get(PATH, route(show))
    .post(PATH, route(signIn))
    .all(PATH, methodNotAllowed(['GET', 'HEAD', 'POST']));
}

const buttonPage = (token: string): PageContent => ({
  title: 'Sign in',
  body: `<p>This link works once.</p>
<form method="post" action="${PATH}">
${hiddenField('token', token)}
<button type="submit">Sign in</button>
</form>`,
});

function welcomePage({ user }: SignedIn, offersPassword: boolean): PageContent {
  const offer = `<p>The link is used up. <a href="${PASSWORD_PATH}">Set a password</a> to sign in without one; that takes no
further proof for ten minutes.</p>`;
  return {
    title: 'You are signed in',
    body: `<p>as <code>${escapeHtml(user.email)}</code>.</p>${offersPassword ? offer : ''}`,
  };
}

const gonePage: PageContent = {
  title: 'This link is not valid any more',
  body: `<p>It was used, or its time is over. An admin of your account can make a new one; the owner's is printed by
<code>owner-link</code> on the service's machine.</p>`,
};
