import type { OriginReader } from '../http/request-origin.ts';
import { type Request, type Response, Router } from 'express';
import { safeHtml } from '@svault/server-kit/safe-html';
import type { Logger } from '@svault/server-kit/logger';
import { helpText } from '@svault/server-kit/page-parts';
import { requestIdOf } from '@svault/server-kit/request-id';
import { methodNotAllowed, only, route } from '@svault/server-kit/request-handler';
import { wantsPage } from '@svault/server-kit/respond-page';
import { OIDC_CALLBACK_PATH } from '../../sign-in/methods.ts';
import { notFound } from '../../core/errors.ts';
import type { ConsolePath } from '../console/built-files.ts';
import { readCookie } from '../http/cookies.ts';
import { localPath } from './return-to.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import type { SetSessionCookie } from './page-session.ts';
import type { ProviderSignIn } from '../../sign-in/oidc/provider-sign-in.ts';
import { type PageContent, type ShownError, isKnownError, messageOf, sendPage, statusOf } from './page.ts';
import { SIGN_IN_PATH } from './sign-in-page.ts';

export const OIDC_PATH = '/api/login/oidc';

/** How long a sign-in at the provider may take; the sealed value holds the same limit. */
const COOKIE_SECONDS = 600;

/** To the identity provider and back. A browser gets pages, anything else gets JSON. */
export function createOidcRoutes(options: {
  /** Undefined where there is no identity provider. */
  readonly providerSignIn: ProviderSignIn | undefined;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly originOf: OriginReader;
  readonly setSessionCookie: SetSessionCookie;
  readonly consolePath: ConsolePath;
  readonly logger: Logger;
  readonly https: boolean;
}): Router {
  const { providerSignIn, limits, originOf, setSessionCookie, consolePath, logger, https } = options;
  // The prefix keeps other hosts of the domain from planting one. It has to reach a callback that comes from elsewhere.
  const name = https ? '__Host-svault-oidc' : 'svault-oidc';
  const attributes = `Path=/; HttpOnly; SameSite=Lax${https ? '; Secure' : ''}`;

  const begin = async (req: Request, res: Response): Promise<void> => {
    if (providerSignIn === undefined) throw notFound();
    const { url, sealed } = await providerSignIn.begin(localPath(req.query['returnTo']));
    res.setHeader('Set-Cookie', `${name}=${sealed}; ${attributes}; Max-Age=${COOKIE_SECONDS}`);
    res.redirect(303, url);
  };

  const callback = async (req: Request, res: Response): Promise<void> => {
    if (providerSignIn === undefined) throw notFound();
    const clear = `${name}=; ${attributes}; Max-Age=0`;
    // Each cookie allows one attempt.
    res.setHeader('Set-Cookie', clear);
    const { signedIn, returnTo } = await providerSignIn.finish({
      query: queryOf(req),
      sealed: readCookie(req.get('cookie'), name),
      client: { client: req.get('user-agent') ?? '', origin: originOf(req, 'console') },
      admit: () => limits.countAddress('oidc_callback', req),
    });
    res.setHeader('Set-Cookie', [clear, await setSessionCookie(req.get('cookie'), signedIn)]);
    res.redirect(303, returnTo ?? consolePath('/') ?? SIGN_IN_PATH);
  };

  const orPage = (handler: typeof begin): ReturnType<typeof route> =>
    route(async (req, res) => {
      try {
        await handler(req, res);
      } catch (error) {
        if (!isKnownError(error) || !wantsPage(req)) throw error;
        const status = statusOf(res, error);
        const { code, message, details, reason, cause } = error;
        if (status >= 500) logger.error({ code, err: cause }, 'the identity provider does not answer');
        else logger.debug({ code, reason }, 'sign-in refused');
        const shown = { code, message, details: { ...details, requestId: requestIdOf(req) } };
        sendPage(res, status, failedPage(shown));
      }
    });

  return Router({ caseSensitive: true, strict: true })
    .get(OIDC_PATH, only(['GET']), orPage(begin))
    .get(OIDC_CALLBACK_PATH, only(['GET']), orPage(callback))
    .all(OIDC_PATH, methodNotAllowed(['GET']))
    .all(OIDC_CALLBACK_PATH, methodNotAllowed(['GET']));
}

/** Of the address as it came: a parser may join what occurs twice. */
const queryOf = ({ url }: Request): URLSearchParams =>
  new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');

const failedPage = (error: ShownError): PageContent => ({
  name: 'sign-in-failed',
  title: 'You are not signed in',
  body: safeHtml`<p>${messageOf(error)}</p>`,
  next: safeHtml`<p><a href="${SIGN_IN_PATH}">Back to the sign-in page</a></p>
${helpText(error)}`,
});
