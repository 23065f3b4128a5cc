import type { Request, Response, Router } from 'express';
import { safeHtml } from '@svault/server-kit/html-page';
import { PASSWORD_CHARACTERS } from '../../sign-in/passwords.ts';
import type { PasswordSetting } from '../../sign-in/set-password.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import {
  type PageContent,
  alertText,
  isKnownError,
  pageAt,
  readFormBody,
  sendPage,
  statusOf,
  messageOf,
} from './page.ts';
import type { PageSession } from './page-session.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import { PASSWORD_PATH, signInPathFor } from './sign-in-page.ts';

/** The page where a signed-in person sets their own password. */
export function createPasswordPage(options: {
  /** Undefined where people sign in at an identity provider. */
  readonly setting: PasswordSetting | undefined;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly pageSession: PageSession;
}): Router {
  const { setting, limits, pageSession } = options;

  const show = async (req: Request, res: Response): Promise<void> => {
    if (setting === undefined) throw noPasswordsHere();
    const actor = await pageSession.actor(req);
    if (actor === undefined) return res.redirect(303, signInPathFor(PASSWORD_PATH));
    const proof = await setting.proofNeeded(actor);
    if (proof === 'link') return sendPage(res, 403, needsLinkPage);
    sendPage(res, 200, formPage(proof === 'currentPassword', undefined));
  };

  const set = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireSameOrigin(req);
    if (setting === undefined) throw noPasswordsHere();
    const actor = await pageSession.actor(req);
    if (actor === undefined) return res.redirect(303, signInPathFor(PASSWORD_PATH));
    await limits.countAddress('password_login', req);
    const { currentPassword, newPassword = '', repeated } = await readFormBody(req);
    const again = (status: number, message: string): void =>
      sendPage(res, status, formPage(currentPassword !== undefined, message));
    if (repeated !== newPassword) return again(422, 'The two new passwords differ.');
    try {
      await setting.set(actor, { currentPassword, newPassword }, pageSession.transactionAs(actor, 'denied'));
      sendPage(res, 200, donePage);
    } catch (error) {
      if (!isKnownError(error)) throw error;
      again(statusOf(res, error), messageOf(error));
    }
  };

  return pageAt(PASSWORD_PATH, { show, submit: set });
}

const { min, max } = PASSWORD_CHARACTERS;

function formPage(needsCurrent: boolean, message: string | undefined): PageContent {
  const current = safeHtml`<label for="current">Current password</label>
<input id="current" name="currentPassword" type="password" autocomplete="current-password" required autofocus>`;
  return {
    title: 'Set your password',
    body: safeHtml`${message === undefined ? '' : alertText(message)}
<form method="post" action="${PASSWORD_PATH}">
${needsCurrent ? current : ''}
<label for="new">New password</label>
<input id="new" name="newPassword" type="password" autocomplete="new-password" required minlength="${min}" aria-describedby="rule"${needsCurrent ? '' : ' autofocus'}>
<label for="repeated">The same again</label>
<input id="repeated" name="repeated" type="password" autocomplete="new-password" required>
<button type="submit">Set password</button>
</form>
<p class="dim" id="rule">${min} to ${max} characters; what they are does not matter. Your other sessions end.</p>`,
  };
}

const needsLinkPage: PageContent = {
  title: 'This needs a one-time link',
  body: safeHtml`<p>You have no password yet, and you signed in too long ago to set the first one. Sign in by a new one-time link, then
set it within ten minutes.</p>`,
};

const donePage: PageContent = {
  title: 'Your password is set',
  body: safeHtml`<p>Your other sessions have ended. You can close this page.</p>`,
};
