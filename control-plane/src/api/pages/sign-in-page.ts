import { type Request, type Response, Router } from 'express';
import { methodNotAllowed } from '@svault/server-kit/request-handler';
import { endSession } from '../../sign-in/sessions.ts';
import type { SignInByPassword } from '../../sign-in/sign-in-by-password.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import type { SessionCookie } from '../http/cookies.ts';
import { readFormBody } from './form-body.ts';
import { ownPath } from './return-to.ts';
import type { PageSession } from './page-session.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import type { SetSessionCookie } from './set-session-cookie.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import { isRefusal, pageRoute, sendPage, statusOf, wordsOf } from './page.ts';
import * as html from './sign-in-page-html.ts';

export interface SignInPageDependencies {
  readonly stores: Pick<Stores, 'users'>;
  readonly unitOfWork: UnitOfWork;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly pageSession: PageSession;
  readonly cookie: SessionCookie;
  readonly setSessionCookie: SetSessionCookie;
  /** One of the two. */
  readonly signInByPassword: SignInByPassword | undefined;
  readonly issuer: string | undefined;
}

/** The page where people sign in, and from where they go on to where they were going. */
export function createSignInPage(dependencies: SignInPageDependencies): Router {
  const { stores, unitOfWork, limits, pageSession, cookie, setSessionCookie } = dependencies;
  const { signInByPassword, issuer } = dependencies;

  const show = async (req: Request, res: Response): Promise<void> => {
    const returnTo = ownPath(req.query['returnTo']);
    const actor = await pageSession.actor(req);
    const user = actor && (await stores.users.get(actor.vaultId, actor.userId));
    if (user !== undefined && returnTo !== undefined) return res.redirect(303, returnTo);
    if (user !== undefined) return sendPage(res, 200, html.signedInPage(user, issuer === undefined));
    sendPage(
      res,
      200,
      issuer === undefined ? html.passwordFormPage({ returnTo }) : html.providerPage(issuer, returnTo),
    );
  };

  const signIn = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireOwnPage(req);
    if (signInByPassword === undefined) throw noPasswordsHere();
    await limits.countAddress('password_login', req);
    const { email = '', password = '', returnTo: wanted } = await readFormBody(req);
    const returnTo = ownPath(wanted);
    const again = (status: number, message: string): void =>
      sendPage(res, status, html.passwordFormPage({ returnTo, email, message }));
    try {
      const client = req.get('user-agent') ?? '';
      const signedIn = await signInByPassword({ email, password, client });
      if (signedIn === undefined) return again(401, 'E-mail or password is wrong.');
      res.setHeader('Set-Cookie', await setSessionCookie(req.get('cookie'), signedIn));
      res.redirect(303, returnTo ?? html.SIGN_IN_PATH);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      again(statusOf(res, error), wordsOf(error));
    }
  };

  const signOut = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireOwnPage(req);
    const actor = await pageSession.actor(req);
    if (actor !== undefined) {
      const { vaultId, userId, credentialId } = actor;
      await unitOfWork.run(vaultId, (inside) => endSession(inside, actor, credentialId, userId));
    }
    res.setHeader('Set-Cookie', cookie.clear());
    res.redirect(303, html.SIGN_IN_PATH);
  };

  // The root too: who opens the bare address meets a page.
  return Router({ caseSensitive: true, strict: true })
    .get('/', (_req, res) => res.redirect(303, html.SIGN_IN_PATH))
    .all('/', methodNotAllowed(['GET', 'HEAD']))
    .get(html.SIGN_IN_PATH, pageRoute(show))
    .post(html.SIGN_IN_PATH, pageRoute(signIn))
    .all(html.SIGN_IN_PATH, methodNotAllowed(['GET', 'HEAD', 'POST']))
    .post(html.SIGN_OUT_PATH, pageRoute(signOut))
    .all(html.SIGN_OUT_PATH, methodNotAllowed(['POST']));
}
