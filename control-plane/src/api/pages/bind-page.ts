import { helpText, hiddenField } from '@svault/server-kit/page-parts';
import { type SafeHtml, safeHtml } from '@svault/server-kit/safe-html';
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
import type { ConsolePath } from '../console/built-files.ts';
import { readCookie } from '../http/cookies.ts';
import { type PageContent, type ShownError, pageAt, readFormBody, sendPage, messageOf } from './page.ts';
import type { PageSession } from './page-session.ts';
import { SIGN_IN_PATH, homeLink, signInPathFor } from './sign-in-page.ts';

const PATH = '/vault/webhook-bind';

interface BindPageDependencies {
  readonly pageSession: PageSession;
  readonly stores: Pick<Stores, 'vaults' | 'webhookLinks'>;
  readonly binder: WebhookBinder;
  readonly https: boolean;
  readonly consolePath: ConsolePath;
}

/**
 * The page that a webhook's registration link leads to. GET shows the webhook that would be bound and binds
 * nothing; its form does, by an admin's session and from this page only.
 */
export function createBindPage(dependencies: BindPageDependencies): Router {
  const { pageSession, stores, binder, https, consolePath } = dependencies;
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
    const account = await pageSession.emailOf(actor);
    if (actor.role !== 'admin') return sendPage(res, 403, notAdminPage(account));
    const offer = cookie.read(req.get('cookie'));
    const bound = await stores.webhookLinks.find(actor.vaultId);
    if (bound === undefined)
      return offer === undefined
        ? sendPage(res, 400, noLinkPage(account))
        : sendPage(res, 200, confirmPage(offer, account));
    if (offer === undefined || offer.webhookUrl === bound.url)
      return sendPage(
        res,
        200,
        boundPage({
          url: bound.url,
          account,
          askedAgain: offer !== undefined,
          screen: consolePath('/webhook'),
        }),
      );
    sendPage(res, 409, boundToAnotherPage({ bound: bound.url, offered: offer.webhookUrl, account }));
  };

  /** @returns undefined where the response is sent already */
  const adminOf = async (req: Request, res: Response): Promise<Actor | undefined> => {
    const actor = await pageSession.actor(req);
    if (actor?.role === 'admin') return actor;
    if (actor === undefined) res.redirect(303, signInPathFor(PATH));
    else sendPage(res, 403, notAdminPage(await pageSession.emailOf(actor)));
    return undefined;
  };

  const bind = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireSameOrigin(req);
    if ((await adminOf(req, res)) === undefined) return;
    const { code, webhookUrl, hmacHash, decision } = await readFormBody(req);
    // Checked again: a slow body carries nothing past a removal or a sign-out.
    const actor = await adminOf(req, res);
    if (actor === undefined) return;
    const account = await pageSession.emailOf(actor);
    if (decision === 'cancel') {
      res.setHeader('Set-Cookie', cookie.clear());
      return sendPage(res, 200, cancelledPage(account, homeLink(consolePath)));
    }
    const offer = readOffer({ code, webhookUrl, hmacHash });
    if (offer === undefined) return sendPage(res, 400, noLinkPage(account));
    await requireUnlocked(stores, actor.vaultId);
    /** The console shows how the webhook does. */
    const after = consolePath('/webhook') ?? PATH;
    // A second click on the button finds the webhook bound, which is what it asked for.
    const bound = await stores.webhookLinks.find(actor.vaultId);
    if (bound?.url === offer.webhookUrl) return res.redirect(303, after);
    await binder.bind(actor, offer, pageSession.transactionAs(actor, 'denied'));
    res.setHeader('Set-Cookie', cookie.clear());
    res.redirect(303, after);
  };

  return Router({ caseSensitive: true, strict: true })
    .use(PATH, pageHeaders({ https }))
    .use(
      pageAt(
        PATH,
        { show, submit: bind },
        {
          ofSubmit: (error) => failedPage(error, homeLink(consolePath)),
        },
      ),
    );
}

function offerInQuery({ query }: Request): BindOffer | undefined {
  const { code, webhook_url: encodedUrl, hmac_hash: hmacHash } = query;
  if (typeof code !== 'string' || typeof encodedUrl !== 'string' || typeof hmacHash !== 'string')
    return undefined;
  return readOffer({ code, webhookUrl: decodeWebhookUrl(encodedUrl), hmacHash });
}

/** Shows the values to compare. The form carries the same values, so that nothing else can be bound. */
const confirmPage = (offer: BindOffer, account: string): PageContent => ({
  name: 'bind',
  title: 'Bind this webhook?',
  account,
  body: safeHtml`<div class="compare">
<p>Your webhook must show this fingerprint:</p>
<p class="value fingerprint">${fingerprintOf(offer.hmacHash)}</p>
</div>
<dl class="facts">
<dt>Webhook</dt>
<dd class="value">${offer.webhookUrl}</dd>
<dt>Account</dt>
<dd class="value"><bdi>${account}</bdi></dd>
</dl>
<p>The webhook will hold the credentials of your vault. The control plane decides who may fetch them there.</p>
<p class="note">Bind it only if you came here from your own webhook and the fingerprints are <strong>the same</strong>.</p>
<form method="post" action="${PATH}">
${hiddenField('code', offer.code)}
${hiddenField('webhookUrl', offer.webhookUrl)}
${hiddenField('hmacHash', offer.hmacHash)}
<p class="actions"><button type="submit">Bind webhook</button>
<button type="submit" name="decision" value="cancel" class="quiet">Cancel</button></p>
</form>`,
  next: undefined,
});

const newLink = safeHtml`open the <code>/bind</code> page of your webhook and press Connect, or run its <code>bind-link</code>`;
const accountLink = safeHtml`<a href="${SIGN_IN_PATH}">your account</a>`;

const cancelledPage = (account: string, home: SafeHtml): PageContent => ({
  name: 'bind-cancelled',
  title: 'Nothing is bound',
  account,
  body: safeHtml`<p>You cancelled. The webhook is not bound, and its link is void in five minutes.</p>`,
  next: safeHtml`<p>To bind a webhook, ${newLink}. Or go to ${home}.</p>`,
});

const notAdminPage = (account: string): PageContent => ({
  name: 'bind-not-admin',
  title: 'This needs an admin',
  account,
  body: safeHtml`<p>You are signed in as a member, and only an admin of the account binds its webhook.</p>`,
  next: safeHtml`<p>Ask an admin, or sign out at ${accountLink} and sign in as one.</p>`,
});

const noLinkPage = (account: string): PageContent => ({
  name: 'bind-no-link',
  title: 'No link to bind',
  account,
  body: safeHtml`<p>No webhook is bound to your account, and the link that led here is incomplete or older than five minutes.</p>`,
  next: safeHtml`<p>To bind a webhook, ${newLink}.</p>`,
});

/** A webhook offers no link while it knows its binding, so a fresh one may mean that its keys were erased. */
const boundPage = (about: {
  readonly url: string;
  readonly account: string;
  readonly askedAgain: boolean;
  /** Of the console, where it is built. */
  readonly screen: string | undefined;
}): PageContent => ({
  name: 'bound',
  title: 'A webhook is bound',
  account: about.account,
  body: safeHtml`<p>The credentials of your vault are held by <code>${about.url}</code>.</p>
${
  about.askedAgain
    ? safeHtml`<p class="note">If you have just run <code>unseal-bind</code> there, it has forgotten this binding: unbind it here, too
(<code>svault webhook unbind</code>), then ${newLink}.</p>`
    : undefined
}`,
  next: safeHtml`<h2>Next</h2>
<ul>
<li>Store a credential: <code>svault add github</code></li>
<li>Create an agent that may use it: <code>svault agents create --name ci --grants github</code></li>
<li>See whether the webhook answers: <code>svault webhook status</code>${
    about.screen === undefined ? undefined : safeHtml`, or <a href="${about.screen}">the console</a>`
  }</li>
</ul>`,
});

const boundToAnotherPage = (about: {
  readonly bound: string;
  readonly offered: string;
  readonly account: string;
}): PageContent => ({
  name: 'bound-to-another',
  title: 'Another webhook is bound',
  account: about.account,
  body: safeHtml`<p>The credentials of your vault are held by <code>${about.bound}</code>. Nothing has been changed.</p>`,
  next: safeHtml`<p>To keep it, close this page. To bind <code>${about.offered}</code> in its place, unbind the present one first
(<code>svault webhook unbind</code>), then ${newLink}.</p>`,
});

const failedPage = (error: ShownError, home: SafeHtml): PageContent => ({
  name: 'bind-failed',
  title: 'The webhook is not bound',
  body: safeHtml`<p>${messageOf(error)}</p>`,
  next: safeHtml`<p>Then begin again at the webhook's <code>/bind</code> page, or go to ${home}.</p>
${helpText(error)}`,
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
