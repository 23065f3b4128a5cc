import { type Request, type Response, Router } from 'express';
import { methodNotAllowed } from '@svault/server-kit/request-handler';
import { pageHeaders } from '@svault/server-kit/security-headers';
import { readFormBody } from './form-body.ts';
import type { Actor } from '../../core/actor.ts';
import type { PageSession } from './page-session.ts';
import type { Stores } from '../../core/stores.ts';
import { requireUnlocked } from '../../core/vault.ts';
import { type BindOffer, decodeWebhookUrl, readOffer } from '../../webhook/registration-link.ts';
import type { WebhookBinder } from '../../webhook/binding.ts';
import { bindOfferCookie } from './bind-offer-cookie.ts';
import * as html from './bind-page-html.ts';
import { pageRoute, sendPage, wordsOf } from './page.ts';
import { signInBefore } from './sign-in-page-html.ts';

const PATH = '/vault/webhook-bind';

export interface BindPageDependencies {
  readonly pageSession: PageSession;
  readonly stores: Pick<Stores, 'users' | 'vaults' | 'webhookLinks'>;
  readonly binder: WebhookBinder;
  readonly https: boolean;
}

/**
 * The page that a webhook's link leads to (contract.md, "Binding page"). GET shows what would be bound and binds
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
    if (actor === undefined) return res.redirect(303, signInBefore(PATH));
    if (actor.role !== 'admin') return sendPage(res, 403, html.notAdminPage);
    const offer = cookie.read(req.get('cookie'));
    const bound = await stores.webhookLinks.find(actor.vaultId);
    if (bound !== undefined)
      return offer === undefined
        ? sendPage(res, 200, html.boundPage(bound.url))
        : sendPage(res, 409, html.boundAlreadyPage(bound.url));
    if (offer === undefined) return sendPage(res, 400, html.noOfferPage);
    const user = await stores.users.get(actor.vaultId, actor.userId);
    sendPage(res, 200, html.confirmPage(offer, user?.email ?? actor.userId, PATH));
  };

  /** @returns undefined where the answer says by now why not */
  const adminOf = async (req: Request, res: Response): Promise<Actor | undefined> => {
    const actor = await pageSession.actor(req);
    if (actor?.role === 'admin') return actor;
    if (actor === undefined) res.redirect(303, signInBefore(PATH));
    else sendPage(res, 403, html.notAdminPage);
    return undefined;
  };

  const bind = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireOwnPage(req);
    if ((await adminOf(req, res)) === undefined) return;
    const { code, webhookUrl, hmacHash } = await readFormBody(req);
    // Once more: a slow body carries nothing past a removal or a sign-out.
    const actor = await adminOf(req, res);
    if (actor === undefined) return;
    const offer = readOffer({ code, webhookUrl, hmacHash });
    if (offer === undefined) return sendPage(res, 400, html.noOfferPage);
    await requireUnlocked(stores, actor.vaultId);
    await binder.bind(actor, offer, pageSession.transactionAs(actor, 'refused'));
    res.setHeader('Set-Cookie', cookie.clear());
    res.redirect(303, PATH);
  };

  return Router({ caseSensitive: true, strict: true })
    .use(PATH, pageHeaders({ https }))
    .get(PATH, pageRoute(show))
    .post(
      PATH,
      pageRoute(bind, (error) => html.failedPage(wordsOf(error))),
    )
    .all(PATH, methodNotAllowed(['GET', 'HEAD', 'POST']));
}

function offerInQuery({ query }: Request): BindOffer | undefined {
  const { code, webhook_url: encodedUrl, hmac_hash: hmacHash } = query;
  if (typeof code !== 'string' || typeof encodedUrl !== 'string' || typeof hmacHash !== 'string')
    return undefined;
  return readOffer({ code, webhookUrl: decodeWebhookUrl(encodedUrl), hmacHash });
}
