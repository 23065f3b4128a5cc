import type { Request, Response, Router } from 'express';
import type { Clock } from '@svault/shared';
import { copyable, hiddenField } from '@svault/server-kit/page-parts';
import { safeHtml } from '@svault/server-kit/safe-html';
import { pageHeaders } from '@svault/server-kit/security-headers';
import { CLI_APPROVAL_PATH, approveCliLogin, pendingCliLogin } from '../../sign-in/cli/login.ts';
import type { CliLogin } from '../../core/cli-login.ts';
import { formTargetOf, redirectWith } from '../../authorization-server/redirect-uri.ts';
import { type PageContent, pageAt, readFormBody, sendPage } from './page.ts';
import type { PageSession } from './page-session.ts';
import type { Stores } from '../../core/stores.ts';
import { signInPathFor } from './sign-in-page.ts';

/** The page where a person lets a command-line client sign in as them. GET changes nothing; its form decides. */
export function createCliPage(options: {
  /** The issuer in its responses (RFC 9207). */
  readonly baseUrl: string;
  readonly stores: Pick<Stores, 'cliLogins'>;
  readonly clock: Clock;
  readonly pageSession: PageSession;
  readonly https: boolean;
}): Router {
  const { baseUrl, stores, clock, pageSession, https } = options;

  const show = async (req: Request, res: Response): Promise<void> => {
    const request = requestIn(req);
    // The client sends the browser back here once it has the decision; these say nothing of anybody.
    if (request === '' && req.query['outcome'] === 'allowed') return sendPage(res, 200, donePage);
    if (request === '' && req.query['outcome'] === 'denied') return sendPage(res, 200, deniedPage);
    if (request === '') return sendPage(res, 404, gonePage);
    const actor = await pageSession.actor(req);
    if (actor === undefined) return res.redirect(303, signInPathFor(addressOf(request)));
    const login = await pendingCliLogin(stores, request, clock);
    if (login === undefined) return sendPage(res, 404, gonePage);
    // `form-action` also restricts where the response to the form redirects.
    pageHeaders({ https, formTargets: redirectTargets(login) })(req, res, () => undefined);
    sendPage(res, 200, askPage(login, await pageSession.emailOf(actor)));
  };

  const decide = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireSameOrigin(req);
    const actor = await pageSession.actor(req);
    // Nothing is read of a stranger's form: which request it is about is in its address too.
    if (actor === undefined) return res.redirect(303, signInPathFor(addressOf(requestIn(req))));
    const { request = '', decision } = await readFormBody(req);
    const login = await pendingCliLogin(stores, request, clock);
    if (login === undefined) return sendPage(res, 404, gonePage);
    if (decision !== 'allow') {
      const denied = await stores.cliLogins.deny(login.id);
      if (!denied) return sendPage(res, 404, gonePage);
      return redirectOrShow(
        res,
        login,
        { error: 'access_denied', state: login.id, iss: baseUrl },
        deniedPage,
      );
    }
    const allow = pageSession.transactionAs(actor, 'allowed');
    const code = await allow((inside) => approveCliLogin(inside, actor, login.id, clock));
    if (code === undefined) return sendPage(res, 404, gonePage);
    // Whose code it is (RFC 9207): another service may have led the person here, and is not to get it.
    redirectOrShow(res, login, { code, state: login.id, iss: baseUrl }, pastePage(code));
  };

  return pageAt(CLI_APPROVAL_PATH, { show, submit: decide });
}

const requestIn = ({ query: { request } }: Request): string => (typeof request === 'string' ? request : '');

const addressOf = (request: string): string =>
  `${CLI_APPROVAL_PATH}?${new URLSearchParams({ request }).toString()}`;

/** The decision, to where the client listens; or as a page, where it does not. */
function redirectOrShow(
  res: Response,
  { redirectUri }: CliLogin,
  parameters: Readonly<Record<string, string>>,
  page: PageContent,
): void {
  if (redirectUri === undefined) return sendPage(res, 200, page);
  res.redirect(303, redirectWith(redirectUri, parameters));
}

const redirectTargets = ({ redirectUri }: CliLogin): string[] =>
  redirectUri === undefined ? [] : [formTargetOf(redirectUri)];

/** The code stands first: to compare it is what the person is here for. */
const askPage = (login: CliLogin, account: string): PageContent => ({
  name: 'cli',
  title: 'Sign in the command line?',
  account,
  body: safeHtml`<div class="compare">
<p>Your terminal must show this code:</p>
<p class="value fingerprint">${login.userCode}</p>
</div>
<dl class="facts">
<dt>Program</dt>
<dd class="value"><bdi>${login.client}</bdi></dd>
<dt>Asked from</dt>
<dd class="value">${login.address ?? 'an unknown address'}</dd>
<dt>Signs in as</dt>
<dd class="value"><bdi>${account}</bdi></dd>
</dl>
<p class="note">Allow it only if you have <strong>just started it yourself</strong> and the codes are the same. It can then do what you can do.</p>
<form method="post" action="${addressOf(login.id)}">
${hiddenField('request', login.id)}
<p class="actions"><button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny" class="quiet">Deny</button></p>
</form>`,
  next: undefined,
});

const pastePage = (code: string): PageContent => ({
  name: 'cli-code',
  title: 'Paste this code',
  usesScript: true,
  body: safeHtml`${copyable(code)}
<p>It works once, for five minutes. Give it to nobody: it signs in as you.</p>`,
  next: safeHtml`<p>Go back to the terminal where you started the program and paste it there. Then close this page.</p>`,
});

const donePage: PageContent = {
  name: 'cli-done',
  title: 'Signed in on the command line',
  body: safeHtml`<p>Your terminal has the answer, and says so if anything is wrong.</p>`,
  next: safeHtml`<p>Close this page and go back to your terminal.</p>`,
};

const deniedPage: PageContent = {
  name: 'cli-denied',
  title: 'Denied',
  body: safeHtml`<p>The command-line program is not signed in.</p>`,
  next: safeHtml`<p>You can close this page. If it was yours, run <code>svault login</code> again.</p>`,
};

const gonePage: PageContent = {
  name: 'cli-gone',
  title: 'There is nothing to decide',
  body: safeHtml`<p>This request was decided already, or its ten minutes are over.</p>`,
  next: safeHtml`<p>To sign in, run <code>svault login</code> in your terminal again.</p>`,
};
