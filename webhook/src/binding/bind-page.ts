import { BIND_PAGE_STYLE } from './bind-page-style.ts';
import { fingerprintOf } from './registration-link.ts';

/**
 * The pages of `/bind`: plain HTML, no script. Forms post back to where the page stands, so they work under any prefix
 * that a proxy puts before it.
 */

/** Asks for the set-up token. Says nothing about the service (protocol section 5.1). */
export function setupTokenPage(options: { readonly problem?: string } = {}): string {
  const { problem } = options;
  return page(
    'Bind this webhook',
    `<h1>Bind this webhook</h1>
${problem === undefined ? '' : `<p class="alert" role="alert" id="problem">${escapeHtml(problem)}</p>`}
<p>This page connects the webhook to the one service it is configured for. To show that the webhook is yours, enter its
set-up token: it was printed when the webhook started for the first time, or is set in its environment.</p>
<form method="post" action="">
<label for="setup-token">Set-up token</label>
<input id="setup-token" name="setup_token" type="password" required autofocus autocomplete="off" spellcheck="false"
${problem === undefined ? '' : ' aria-invalid="true" aria-describedby="problem"'}>
<button type="submit">Continue</button>
</form>`,
  );
}

/** Shows whom connect would bind to, and the fingerprint to compare on the service's side. */
export function connectPage(offer: {
  readonly serviceUrl: string;
  readonly hmacHash: string;
  readonly token: string;
}): string {
  return page(
    'Connect this webhook',
    `<h1>Connect this webhook</h1>
<dl>
<dt>Service</dt>
<dd class="value">${escapeHtml(offer.serviceUrl)}</dd>
<dt>Fingerprint</dt>
<dd class="value fingerprint">${escapeHtml(fingerprintOf(offer.hmacHash))}</dd>
</dl>
<p>Connect takes you to the service, which asks you to confirm. Go on there only if it shows the same fingerprint.</p>
<form method="post" action="">
<input type="hidden" name="connect_token" value="${escapeHtml(offer.token)}">
<button type="submit" autofocus>Connect</button>
</form>
<p class="dim">The link works once and for five minutes.</p>`,
  );
}

/** Says why nothing can be bound here now. */
export function refusedPage(refused: { readonly code: string; readonly message: string }): string {
  return page(
    'Not possible',
    `<h1>Not possible</h1>
<p class="alert" role="alert">${escapeHtml(refused.message)}</p>
<p class="dim">${escapeHtml(refused.code)}</p>`,
  );
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${BIND_PAGE_STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
