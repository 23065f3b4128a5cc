import type { Request, Response, Router } from 'express';
import { alertText, showButton } from '@svault/server-kit/page-parts';
import { type SafeHtml, safeHtml } from '@svault/server-kit/safe-html';
import { PASSWORD_CHARACTERS } from '../../sign-in/passwords.ts';
import type { PasswordSetting } from '../../sign-in/set-password.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import {
  type PageContent,
  isKnownError,
  pageAt,
  readFormBody,
  sendPage,
  statusOf,
  messageOf,
} from './page.ts';
import type { ConsolePath } from '../console/built-files.ts';
import type { PageSession } from './page-session.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import { PASSWORD_PATH, homeLink, signInPathFor } from './sign-in-page.ts';

/** The page where a signed-in person sets their own password. */
export function createPasswordPage(options: {
  /** Undefined where people sign in at an identity provider. */
  readonly setting: PasswordSetting | undefined;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly pageSession: PageSession;
  readonly consolePath: ConsolePath;
}): Router {
  const { setting, limits, pageSession, consolePath } = options;

  const show = async (req: Request, res: Response): Promise<void> => {
    if (setting === undefined) throw noPasswordsHere();
    const actor = await pageSession.actor(req);
    if (actor === undefined) return res.redirect(303, signInPathFor(PASSWORD_PATH));
    const proof = await setting.proofNeeded(actor);
    const account = await pageSession.emailOf(actor);
    if (proof === 'link') return sendPage(res, 403, needsLinkPage(account));
    sendPage(
      res,
      200,
      formPage({ account, needsCurrent: proof === 'currentPassword', home: homeLink(consolePath) }),
    );
  };

  const set = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireSameOrigin(req);
    if (setting === undefined) throw noPasswordsHere();
    const actor = await pageSession.actor(req);
    if (actor === undefined) return res.redirect(303, signInPathFor(PASSWORD_PATH));
    await limits.countAddress('password_login', req);
    const { currentPassword, newPassword = '', repeated } = await readFormBody(req);
    const account = await pageSession.emailOf(actor);
    const again = (status: number, message: string): void =>
      sendPage(
        res,
        status,
        formPage({
          account,
          needsCurrent: currentPassword !== undefined,
          home: homeLink(consolePath),
          message,
        }),
      );
    if (repeated !== newPassword) return again(422, 'The two new passwords differ.');
    try {
      await setting.set(actor, { currentPassword, newPassword }, pageSession.transactionAs(actor, 'denied'));
      sendPage(res, 200, donePage(account, homeLink(consolePath)));
    } catch (error) {
      if (!isKnownError(error)) throw error;
      again(statusOf(res, error), messageOf(error));
    }
  };

  return pageAt(PASSWORD_PATH, { show, submit: set });
}

const { min, max } = PASSWORD_CHARACTERS;

function formPage(options: {
  readonly account: string;
  readonly needsCurrent: boolean;
  readonly home: SafeHtml;
  readonly message?: string;
}): PageContent {
  const { account, needsCurrent, home, message } = options;
  const current = safeHtml`<label for="current">Current password</label>
<input id="current" name="currentPassword" type="password" autocomplete="current-password" required autofocus>`;
  return {
    name: 'password',
    title: 'Set your password',
    account,
    usesScript: true,
    body: safeHtml`${message === undefined ? undefined : alertText(message)}
<p id="rule">A password has ${min} to ${max} characters. Any characters will do; a few words make a good one.</p>
<form method="post" action="${PASSWORD_PATH}">
<input type="text" autocomplete="username" value="${account}" readonly hidden>
${needsCurrent ? current : undefined}
<label for="new">New password</label>
<input id="new" name="newPassword" type="password" autocomplete="new-password" required minlength="${min}" aria-describedby="rule"${needsCurrent ? '' : ' autofocus'}>
<label for="repeated">New password again</label>
<input id="repeated" name="repeated" type="password" autocomplete="new-password" required>
${showButton('passwords')}
<p class="dim">Your other sessions end when you set it.</p>
<button type="submit">Set password</button>
</form>`,
    next: safeHtml`<p>Or keep things as they are, and go on to ${home}.</p>`,
  };
}

const needsLinkPage = (account: string): PageContent => ({
  name: 'password-needs-link',
  title: 'This needs a one-time link',
  account,
  body: safeHtml`<p>You have no password yet, and you signed in more than ten minutes ago.</p>`,
  next: safeHtml`<p>Ask an admin of your account for a new one-time link; the owner's is printed by <code>owner-link</code> on the
control plane's machine. Open it, then set your password within ten minutes.</p>`,
});

const donePage = (account: string, home: SafeHtml): PageContent => ({
  name: 'password-set',
  title: 'Your password is set',
  account,
  body: safeHtml`<p>Your other sessions have ended.</p>`,
  next: safeHtml`<p>Go on to ${home}, or close this page.</p>`,
});
