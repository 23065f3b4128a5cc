import type { PageContent } from '@svault/server-kit/html-page';
import { alertText, helpText, hiddenField, retryText, showButton } from '@svault/server-kit/page-parts';
import { safeHtml } from '@svault/server-kit/safe-html';
import { fingerprintOf } from './registration-link.ts';

/** Every page of this webhook. The browser tests visit each, so that a new one is looked at as well. */
export const PAGE_NAMES = [
  'set-up-token',
  'connect',
  'cancelled',
  'connected',
  'refused',
  'not-found',
] as const;

/** A page of this webhook. Forms post to the page's own address, so they work under any prefix of a proxy. */
export interface WebhookPage extends PageContent {
  readonly name: (typeof PAGE_NAMES)[number];
}

/** Asks for the set-up token. It does not name the control plane (PROTOCOL.md section 5.1). */
export function setupTokenPage({ problem }: { readonly problem?: string } = {}): WebhookPage {
  return {
    name: 'set-up-token',
    title: 'Bind this webhook',
    usesScript: true,
    body: safeHtml`${problem === undefined ? undefined : alertText(problem)}
<p>This page connects the webhook to the one control plane that it is configured for. To show that the webhook is yours,
enter its set-up token.</p>
<form method="post" action="">
<label for="setup-token">Set-up token</label>
<input id="setup-token" name="setup_token" type="password" required autofocus autocomplete="off" spellcheck="false"
${problem === undefined ? undefined : safeHtml` aria-invalid="true" aria-describedby="problem"`}>
${showButton('token')}
<button type="submit">Continue</button>
</form>`,
    next: safeHtml`<p class="dim">The token was printed when the webhook started for the first time, or is set in its environment
(<code>SV_WEBHOOK_SETUP_TOKEN</code>). Without it, <code>bind-link</code> on the webhook's machine makes a link.</p>`,
  };
}

/** Shows the control plane to bind to, and the fingerprint to compare on its side. */
export function connectPage(offer: {
  readonly serviceUrl: string;
  readonly hmacHash: string;
  readonly token: string;
}): WebhookPage {
  return {
    name: 'connect',
    title: 'Connect this webhook',
    body: safeHtml`<div class="compare">
<p>The control plane must show this fingerprint:</p>
<p class="value fingerprint">${fingerprintOf(offer.hmacHash)}</p>
</div>
<dl class="facts">
<dt>Control plane</dt>
<dd class="value">${offer.serviceUrl}</dd>
</dl>
<p>Connect takes you there, where you confirm. Confirm only if it shows <strong>the same fingerprint</strong>. The link works
once, for five minutes.</p>
<form method="post" action="">
${hiddenField('connect_token', offer.token)}
<p class="actions"><button type="submit" autofocus>Connect</button>
<button type="submit" name="decision" value="cancel" class="quiet">Cancel</button></p>
</form>`,
    next: undefined,
  };
}

export const cancelledPage: WebhookPage = {
  name: 'cancelled',
  title: 'Nothing is connected',
  body: safeHtml`<p>You cancelled. No link was made, and the webhook is as it was.</p>`,
  next: safeHtml`<p><a href="">Enter the set-up token again</a>, or close this page.</p>`,
};

/** To an owner who comes back, a binding is a success; only its status is a rejection (PROTOCOL.md BND-10). */
export const connectedPage: WebhookPage = {
  name: 'connected',
  title: 'This webhook is connected',
  body: safeHtml`<p>It is bound to its control plane, and there is nothing to do here.</p>`,
  next: safeHtml`<p>See how it does with <code>svault webhook status</code>. To bind it again, run <code>svault webhook unbind</code>, then <code>unseal-bind</code> on its machine,
which erases its keys; then load this page again.</p>
<p class="dim">Until then programs are told <code>SETUP_REQUIRED</code>.</p>`,
};

/** Says why nothing can be bound here now. */
export const refusedPage = (refused: {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}): WebhookPage => ({
  name: 'refused',
  title: 'This did not work',
  body: safeHtml`<p class="alert" role="alert">${sentence(refused.message)}${retryText(refused.details)}</p>`,
  next: safeHtml`<p>Then <a href="">open this page again</a>.</p>
${helpText(refused)}`,
});

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

export const notFoundPage = (webhookUrl: string): WebhookPage => ({
  name: 'not-found',
  title: 'There is no page here',
  body: safeHtml`<p>Nothing is at this address of the webhook. It is called by programs; people have its bind page, and the pages of
requests that wait for them.</p>`,
  next: safeHtml`<p>To connect the webhook to its control plane, open <a href="${webhookUrl}/bind">its bind page</a>. To sign in
or to manage agents, go to the address of the control plane.</p>`,
});
