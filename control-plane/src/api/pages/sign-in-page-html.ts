import { safeHtml } from '@svault/server-kit/html-page';
import type { User } from '../../core/user.ts';
import { type PageContent, alertText, hiddenField } from './page.ts';

export const SIGN_IN_PATH = '/login';
export const SIGN_OUT_PATH = '/login/out';
export const PASSWORD_PATH = '/login/password';

/** Where a browser signs in before it goes on to an own path. */
export const signInBefore = (path: string): string => `${SIGN_IN_PATH}?${returning(path)}`;

const returning = (path: string): string => new URLSearchParams({ returnTo: path }).toString();

/** @param message why the form did not get through; @param email what was typed into it */
export function passwordFormPage(options: {
  readonly returnTo: string | undefined;
  readonly message?: string | undefined;
  readonly email?: string | undefined;
}): PageContent {
  const { returnTo, message, email = '' } = options;
  const focus = (here: boolean): string => (here ? ' autofocus' : '');
  return {
    title: 'Sign in',
    body: safeHtml`${message === undefined ? '' : alertText(message)}
<form method="post" action="${SIGN_IN_PATH}">
${returnTo === undefined ? '' : hiddenField('returnTo', returnTo)}
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254" value="${email}"${focus(email === '')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${focus(email !== '')}>
<button type="submit">Sign in</button>
</form>
<p class="dim">No password yet, or forgotten? A one-time link signs you in. An admin of your account makes one; the owner's
is printed by <code>owner-link</code> on the service's machine.${
      returnTo === undefined ? '' : ' Then load this page again, and it takes you on.'
    }</p>`,
  };
}

/** @param issuer the identity provider's address */
export function providerPage(issuer: string, returnTo: string | undefined): PageContent {
  const query = returnTo === undefined ? '' : `?${returning(returnTo)}`;
  return {
    title: 'Sign in',
    body: safeHtml`<p>This service knows you by your identity provider.</p>
<p><a class="button" href="/api/login/oidc${query}">Sign in at ${new URL(issuer).host}</a></p>`,
  };
}

/** @param withPasswords whether people here have passwords */
export function signedInPage(user: User, withPasswords: boolean): PageContent {
  const role = user.isOwner ? 'owner' : user.role;
  return {
    title: 'You are signed in',
    body: safeHtml`<p>as <code>${user.email}</code> (${role}).</p>
${withPasswords ? safeHtml`<p><a href="${PASSWORD_PATH}">Set or change your password</a></p>` : ''}
<form method="post" action="${SIGN_OUT_PATH}">
<button type="submit" class="quiet">Sign out</button>
</form>`,
  };
}
