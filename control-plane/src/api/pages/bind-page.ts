import { safeHtml } from '@svault/server-kit/html-page';
import { pageHeaders } from '@svault/server-kit/security-headers';
import { fromBase64url, toBase64url, utf8 } from '@svault/shared';
import { type Request, type Response, Router } from 'express';
import type { Actor } from '../../core/actor.ts';
import type { Stores } from '../../core/stores.ts';
import { requireUnlocked } from '../../core/vault.ts';
import type { WebhookBinder } from '../../webhook/binding.ts';
import {
  type BindOffer,
  decodeWebhookUrl,
  fingerprintOf,
  readOffer,
} from '../../webhook/registration-link.ts';
import { readCookie } from '../http/cookies.ts';
import { type PageContent, hiddenField, pageAt, readFormBody, sendPage, messageOf } from './page.ts';
import type { PageSession } from './page-session.ts';
import { signInPathFor } from './sign-in-page.ts';

const PATH = '/vault/webhook-bind';

interface BindPageDependencies {
  readonly pageSession: PageSession;
  readonly stores: Pick<Stores, 'users' | 'vaults' | 'webhookLinks'>;
  readonly binder: WebhookBinder;
  readonly https: boolean;
}

/**
 * The page that a webhook's registration link leads to. GET shows the webhook that would be bound and binds
 * nothing; its form does, by an admin's session and from this page only.
 */
export function createBindPage(dependencies: BindPageDependencies): Router {
  const { pageSession, stores, binder, https } = dependencies;
  const cookie = bindOfferCookie({ path: PATH, https });

  /** The link's query goes into a cookie and out of the address bar, its history and what a referrer would show. */
  const takeLink = (req: Request, res: Response): void => {
    const offer = offerInQuery(req);
    res.setHeader('Set-Cookie', offer === undefined ? cookie.clear() : cookie.set(offer));
    res.redirect(303, PATH);
  };

  const show = async (req: Request, res: Response): Promise<void> => {
    if (req.url.includes('?')) return takeLink(req, res);
    const actor = await pageSession.actor(req);
    if (actor === undefined) return res.redirect(303, signInPathFor(PATH));
    if (actor.role !== 'admin') return sendPage(res, 403, notAdminPage);
    const offer = cookie.read(req.get('cookie'));
    const bound = await stores.webhookLinks.find(actor.vaultId);
    if (bound !== undefined)
      return offer === undefined
        ? sendPage(res, 200, boundPage(bound.url))
        : sendPage(res, 409, boundAlreadyPage(bound.url));
    if (offer === undefined) return sendPage(res, 400, noOfferPage);
    const user = await stores.users.get(actor.vaultId, actor.userId);
    sendPage(res, 200, confirmPage(offer, user?.email ?? actor.userId, PATH));
  };

  /** @returns undefined where the response is sent already */
  const adminOf = async (req: Request, res: Response): Promise<Actor | undefined> => {
    const actor = await pageSession.actor(req);
    if (actor?.role === 'admin') return actor;
    if (actor === undefined) res.redirect(303, signInPathFor(PATH));
    else sendPage(res, 403, notAdminPage);
    return undefined;
  };

  const bind = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireSameOrigin(req);
    if ((await adminOf(req, res)) === undefined) return;
    const { code, webhookUrl, hmacHash } = await readFormBody(req);
    // Checked again: a slow body carries nothing past a removal or a sign-out.
    const actor = await adminOf(req, res);
    if (actor === undefined) return;
    const offer = readOffer({ code, webhookUrl, hmacHash });
    if (offer === undefined) return sendPage(res, 400, noOfferPage);
    await requireUnlocked(stores, actor.vaultId);
    await binder.bind(actor, offer, pageSession.transactionAs(actor, 'denied'));
    res.setHeader('Set-Cookie', cookie.clear());
    res.redirect(303, PATH);
  };

  return Router({ caseSensitive: true, strict: true })
    .use(PATH, pageHeaders({ https }))
    .use(pageAt(PATH, { show, submit: bind }, { ofSubmit: (error) => failedPage(messageOf(error)) }));
}

function offerInQuery({ query }: Request): BindOffer | undefined {
  const { code, webhook_url: encodedUrl, hmac_hash: hmacHash } = query;
  if (typeof code !== 'string' || typeof encodedUrl !== 'string' || typeof hmacHash !== 'string')
    return undefined;
  return readOffer({ code, webhookUrl: decodeWebhookUrl(encodedUrl), hmacHash });
}

/** Shows the values to compare. The form carries the same values, so that nothing else can be bound. */
function confirmPage(offer: BindOffer, account: string, action: string): PageContent {
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

const notAdminPage: PageContent = {
  title: 'This needs an admin',
  body: safeHtml`<p>You are signed in as a member. Ask an admin of the account to bind the webhook.</p>`,
};

const noOfferPage: PageContent = {
  title: 'No link to bind',
  body: safeHtml`<p>The link is incomplete or older than five minutes. Open the <code>/bind</code> page of your webhook and
press connect, or run its <code>bind-link</code>.</p>`,
};

const boundPage = (url: string): PageContent => ({
  title: 'A webhook is bound',
  body: safeHtml`<p>The credentials of your vault are held by <code>${url}</code>. You can close this page.</p>`,
});

const boundAlreadyPage = (url: string): PageContent => ({
  title: 'A webhook is bound already',
  body: safeHtml`<p>The credentials of your vault are held by <code>${url}</code>. Nothing has been changed. To bind
another one, unbind this one first.</p>`,
});

const failedPage = (message: string): PageContent => ({
  title: 'The webhook is not bound',
  body: safeHtml`<p>${message}</p>`,
});

/** As long as the code holds (specification, "Endpoints": `/vault/webhook-bind`). */
const LIFETIME_SECONDS = 300;

/**
 * Holds a link's parameters between the request that brought them and the page, so that they leave the address bar
 * at once and outlast a sign-in. Of its content nothing is believed: the page shows it, and the form posts what the
 * page showed.
 */
function bindOfferCookie({ path, https }: { readonly path: string; readonly https: boolean }): {
  set(offer: BindOffer): string;
  clear(): string;
  read(cookieHeader: string | undefined): BindOffer | undefined;
} {
  const name = https ? '__Secure-svault-bind' : 'svault-bind';
  const attributes = `Path=${path}; HttpOnly; SameSite=Lax${https ? '; Secure' : ''}`;
  return {
    set: (offer) =>
      `${name}=${toBase64url(utf8(JSON.stringify(offer)))}; ${attributes}; Max-Age=${LIFETIME_SECONDS}`,
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
    read: (header) => {
      const bytes = fromBase64url(readCookie(header, name) ?? '');
      return bytes === undefined || bytes.length === 0
        ? undefined
        : parseOffer(Buffer.from(bytes).toString());
    },
  };
}

function parseOffer(json: string): BindOffer | undefined {
  try {
    const parts: unknown = JSON.parse(json);
    if (typeof parts !== 'object' || parts === null) return undefined;
    const text = (name: string): string | undefined => {
      const value: unknown = Reflect.get(parts, name);
      return typeof value === 'string' ? value : undefined;
    };
    return readOffer({ code: text('code'), webhookUrl: text('webhookUrl'), hmacHash: text('hmacHash') });
  } catch {
    return undefined;
  }
}
