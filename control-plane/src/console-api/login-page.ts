import { type Request, type Response, Router } from 'express';
import type { Clock } from '@svault/shared';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';
import { pageHeaders } from '@svault/server-kit/security-headers';
import { isLoginLinkLive, signInByLink } from '../accounts/login-link.ts';
import { SESSION_LIFETIME_MS } from '../accounts/sessions.ts';
import { refusal } from '../errors.ts';
import type { SessionCookie } from '../http/cookies.ts';
import { readFormBody } from '../http/form-body.ts';
import { escapeHtml, htmlPage } from '@svault/server-kit/html-page';
import { comesFromOrigin } from '../http/origin-check.ts';
import type { Stores, UnitOfWork } from '../unit-of-work.ts';

const PATH = '/login/link';

/**
 * The page behind a one-time link. Opening it uses nothing up, since mail and chat programs open links to preview
 * them; its button does.
 */
export function createLoginPage(options: {
  readonly stores: Pick<Stores, 'loginLinks'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
  readonly cookie: SessionCookie;
  readonly https: boolean;
  readonly ownOrigin: string;
}): Router {
  const { stores, unitOfWork, clock, cookie, https, ownOrigin } = options;

  const show = async (req: Request, res: Response): Promise<void> => {
    const { token } = req.query;
    const live = typeof token === 'string' && (await isLoginLinkLive(stores, token, clock));
    if (live) return sendPage(res, 200, 'Sign in', buttonFor(token));
    sendPage(res, 401, 'This link is not valid any more', GONE);
  };

  const signIn = async (req: Request, res: Response): Promise<void> => {
    if (!comesFromOrigin((name) => req.get(name), ownOrigin))
      throw refusal('FORBIDDEN', 'This request does not come from a page of this service.');
    const { token = '' } = await readFormBody(req);
    const input = { token, client: req.get('user-agent') ?? '' };
    const signedIn = await unitOfWork.runAcross((inside) => signInByLink(inside, input, clock));
    if (signedIn === undefined) return sendPage(res, 401, 'This link is not valid any more', GONE);
    const { sessionToken, user } = signedIn;
    res.setHeader('Set-Cookie', cookie.set(sessionToken, SESSION_LIFETIME_MS / 1_000));
    sendPage(res, 200, 'You are signed in', `<p>as <code>${escapeHtml(user.email)}</code>.</p>`);
  };

  return Router({ caseSensitive: true, strict: true })
    .use(PATH, pageHeaders({ https }))
    .get(PATH, route(show))
    .post(PATH, route(signIn))
    .all(PATH, methodNotAllowed(['GET', 'HEAD', 'POST']));
}

const buttonFor = (token: string): string => `<p>This link works once.</p>
<form method="post" action="${PATH}">
<input type="hidden" name="token" value="${escapeHtml(token)}">
<button type="submit">Sign in</button>
</form>`;

const GONE = `<p>It was used, or its time is over. Make a new one on the service's machine with
<code>owner-link</code>.</p>`;

function sendPage(res: Response, status: number, title: string, body: string): void {
  res.status(status).type('html').send(htmlPage(title, body));
}
