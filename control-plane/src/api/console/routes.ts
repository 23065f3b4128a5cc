import { methodNotAllowed, route } from '@svault/server-kit/request-handler';
import { respond } from '@svault/server-kit/respond';
import { wantsPage } from '@svault/server-kit/respond-page';
import { safeHtml } from '@svault/server-kit/safe-html';
import { pageHeaders } from '@svault/server-kit/security-headers';
import { type Request, type Response, Router } from 'express';
import type { Stores } from '../../core/stores.ts';
import type { PageSession } from '../pages/page-session.ts';
import { type PageContent, sendPage } from '../pages/page.ts';
import { signInPathFor } from '../pages/sign-in-page.ts';
import { type BuiltConsole, type BuiltFile, CONSOLE_FOLDER, readBuiltConsole } from './built-files.ts';
import { SCREENS } from './screens.ts';

/** The names of files change with their content. */
const FOREVER = 'public, max-age=31536000, immutable';

/** The web console: its page at each of its addresses, and the files that the page loads. */
export function createConsole(options: {
  readonly https: boolean;
  readonly pageSession: Pick<PageSession, 'actor'>;
  readonly stores: Pick<Stores, 'webhookLinks'>;
  /** Where the built console is; that of this checkout unless given. */
  readonly folder?: string | undefined;
}): Router {
  const { https, pageSession, stores, folder = CONSOLE_FOLDER } = options;
  const headers = pageHeaders({ https });
  let built: BuiltConsole | undefined;
  /** Read with the first request that needs it: most processes never get one, and tests start many. */
  const console = (): BuiltConsole | undefined => (built ??= readBuiltConsole(folder));

  const showIndex = async (req: Request, res: Response): Promise<void> => {
    void headers(req, res, () => undefined);
    const actor = await pageSession.actor(req);
    if (actor === undefined) return res.redirect(303, signInPathFor(req.originalUrl));
    const index = console()?.index;
    if (index === undefined) return sendPage(res, 200, notBuiltPage);
    const link = await stores.webhookLinks.find(actor.vaultId);
    res.setHeader('Content-Security-Policy', consolePolicy(link && new URL(link.url).origin));
    sendFile(req, res, index);
  };

  const router = Router({ caseSensitive: true, strict: true })
    .get('/assets/:name', (req, res, next) => {
      const file = console()?.assets.get(req.params.name);
      if (file === undefined) return next();
      res.setHeader('Cache-Control', FOREVER);
      sendFile(req, res, file);
    })
    // Who opens the bare address is led on in any case.
    .get('/', route(showIndex))
    .all('/', methodNotAllowed(['GET', 'HEAD']));
  for (const path of SCREENS)
    router.get(path, (req, _res, next) => next(wantsPage(req) ? undefined : 'route'), route(showIndex));
  return router;
}

/**
 * The policy of the console's page: what it runs and shows comes from here, and it calls this service and the webhook alone.
 * @param webhook origin of the account's webhook, to which the browser sends secrets
 */
function consolePolicy(webhook: string | undefined): string {
  const called = webhook === undefined ? "'self'" : `'self' ${webhook}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${called}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
  ].join(';');
}

function sendFile(req: Request, res: Response, { type, plain, brotli }: BuiltFile): void {
  res.vary('Accept-Encoding');
  const compressed = brotli !== undefined && req.acceptsEncodings('br') === 'br' ? brotli : undefined;
  const encoding = compressed === undefined ? [] : ['Content-Encoding', 'br'];
  respond(res, { status: 200, headers: ['Content-Type', type, ...encoding], body: compressed ?? plain });
}

const notBuiltPage: PageContent = {
  name: 'console-not-built',
  title: 'The console is not built',
  body: safeHtml`<p>This control plane runs without its web console. Everything else works: the command line, the API, and the
pages that sign people in.</p>`,
  next: safeHtml`<p>To build it, run <code>npm run build --workspace control-plane/console</code> in the checkout, and load this page again.
Until then, go to <a href="/login">your account</a>.</p>`,
};
