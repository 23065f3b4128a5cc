import { htmlPage, safeHtml } from '@svault/server-kit/html-page';
import { fingerprintOf } from './registration-link.ts';

/**
 * The pages of `/bind`: plain HTML, no script. Forms post to the page's own address, so they work under any prefix
 * that a proxy puts before it.
 */

/** Asks for the set-up token. It does not name the control plane (PROTOCOL.md section 5.1). */
export function setupTokenPage(options: { readonly problem?: string } = {}): string {
  const { problem } = options;
  return htmlPage(
    'Bind this webhook',
    safeHtml`${problem === undefined ? '' : safeHtml`<p class="alert" role="alert" id="problem">${problem}</p>`}
<p>This page connects the webhook to the one service it is configured for. To show that the webhook is yours, enter its
set-up token: it was printed when the webhook started for the first time, or is set in its environment.</p>
<form method="post" action="">
<label for="setup-token">Set-up token</label>
<input id="setup-token" name="setup_token" type="password" required autofocus autocomplete="off" spellcheck="false"
${problem === undefined ? '' : safeHtml` aria-invalid="true" aria-describedby="problem"`}>
<button type="submit">Continue</button>
</form>`,
  );
}

/** Shows the control plane to bind to, and the fingerprint to compare on its side. */
export function connectPage(offer: {
  readonly serviceUrl: string;
  readonly hmacHash: string;
  readonly token: string;
}): string {
  return htmlPage(
    'Connect this webhook',
    safeHtml`<dl>
<dt>Service</dt>
<dd class="value">${offer.serviceUrl}</dd>
<dt>Fingerprint</dt>
<dd class="value fingerprint">${fingerprintOf(offer.hmacHash)}</dd>
</dl>
<p>Connect takes you to the service, which asks you to confirm. Go on there only if it shows the same fingerprint.</p>
<form method="post" action="">
<input type="hidden" name="connect_token" value="${offer.token}">
<button type="submit" autofocus>Connect</button>
</form>
<p class="dim">The link works once and for five minutes.</p>`,
  );
}

/** Says why nothing can be bound here now. */
export function refusedPage(refused: { readonly code: string; readonly message: string }): string {
  return htmlPage(
    'Not possible',
    safeHtml`<p class="alert" role="alert">${refused.message}</p>
<p class="dim">${refused.code}</p>`,
  );
}
