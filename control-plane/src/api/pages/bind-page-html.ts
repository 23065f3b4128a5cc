import { safeHtml } from '@svault/server-kit/html-page';
import { type BindOffer, fingerprintOf } from '../../webhook/registration-link.ts';
import { type PageContent, hiddenField } from './page.ts';

/** What is to be compared and confirmed. The form carries what is shown, so that nothing else can be bound. */
export function confirmPage(offer: BindOffer, account: string, action: string): PageContent {
  return {
    title: 'Bind this webhook?',
    body: safeHtml`<p>It will hold the credentials of your vault. This service never sees them; it decides who may fetch them there.</p>
<dl>
<dt>Webhook</dt>
<dd class="value">${offer.webhookUrl}</dd>
<dt>Account</dt>
<dd class="value">${account}</dd>
<dt>Fingerprint</dt>
<dd class="value fingerprint">${fingerprintOf(offer.hmacHash)}</dd>
</dl>
<p>Bind it only if you came here from your own webhook and it shows <strong>the same fingerprint</strong>.</p>
<form method="post" action="${action}">
${hiddenField('code', offer.code)}
${hiddenField('webhookUrl', offer.webhookUrl)}
${hiddenField('hmacHash', offer.hmacHash)}
<button type="submit">Bind webhook</button>
</form>`,
  };
}

export const notAdminPage: PageContent = {
  title: 'This needs an admin',
  body: safeHtml`<p>You are signed in as a member. Ask an admin of the account to bind the webhook.</p>`,
};

export const noOfferPage: PageContent = {
  title: 'No link to bind',
  body: safeHtml`<p>The link is incomplete or older than five minutes. Open the <code>/bind</code> page of your webhook and
press connect, or run its <code>bind-link</code>.</p>`,
};

export const boundPage = (url: string): PageContent => ({
  title: 'A webhook is bound',
  body: safeHtml`<p>The credentials of your vault are held by <code>${url}</code>. You can close this page.</p>`,
});

export const boundAlreadyPage = (url: string): PageContent => ({
  title: 'A webhook is bound already',
  body: safeHtml`<p>The credentials of your vault are held by <code>${url}</code>. Nothing has been changed. To bind
another one, unbind this one first.</p>`,
});

export const failedPage = (message: string): PageContent => ({
  title: 'The webhook is not bound',
  body: safeHtml`<p>${message}</p>`,
});
