import { type Request, type Response, Router } from 'express';
import { AppError } from '@svault/shared';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';
import { pageHeaders } from '@svault/server-kit/security-headers';
import type { Actor } from '../accounts/actor.ts';
import type { Sessions } from '../accounts/sessions.ts';
import { type ErrorCode, refusal } from '../errors.ts';
import { readCookie } from '../http/cookies.ts';
import { ERROR_STATUS } from '../http/errors.ts';
import { readFormBody } from '../http/form-body.ts';
import { htmlPage } from '@svault/server-kit/html-page';
import { comesFromOrigin } from '../http/origin-check.ts';
import type { Stores, UnitOfWork } from '../unit-of-work.ts';
import { refuseWhileLocked } from '../vault/lock.ts';
import { type BindOffer, decodeWebhookUrl, readOffer } from '../webhook-link/bind-offer.ts';
import type { WebhookBinder } from '../webhook-link/bind-webhook.ts';
import { bindOfferCookie } from './bind-offer-cookie.ts';
import * as html from './bind-page-html.ts';

const PATH = '/vault/webhook-bind';

export interface BindPageDependencies {
  readonly sessions: Pick<Sessions, 'resolve'>;
  readonly stores: Pick<Stores, 'users' | 'vaults' | 'webhookLinks'>;
  readonly unitOfWork: UnitOfWork;
  readonly binder: WebhookBinder;
  readonly sessionCookieName: string;
  readonly https: boolean;
  readonly ownOrigin: string;
}

/**
 * The page that a webhook's link leads to (contract.md, "Binding page"). GET shows what would be bound and binds
 * nothing; its form does, by an admin's session and from this page only.
 */
export function createBindPage(dependencies: BindPageDependencies): Router {
  const { sessions, stores, unitOfWork, binder, sessionCookieName, https, ownOrigin } = dependencies;
  const cookie = bindOfferCookie({ path: PATH, https });

  const signedIn = async (req: Request): Promise<Actor | undefined> => {
    const token = readCookie(req.get('cookie'), sessionCookieName);
    return token === undefined ? undefined : sessions.resolve(token);
  };

  /** The link's query goes into a cookie and out of the address bar, its history and what a referrer would show. */
  const takeLink = (req: Request, res: Response): void => {
    const offer = offerInQuery(req);
    res.setHeader('Set-Cookie', offer === undefined ? cookie.clear() : cookie.set(offer));
    res.redirect(303, PATH);
  };

  const show = async (req: Request, res: Response): Promise<void> => {
    if (req.url.includes('?')) return takeLink(req, res);
    const actor = await signedIn(req);
    if (actor === undefined) return send(res, 401, html.signInPage);
    if (actor.role !== 'admin') return send(res, 403, html.notAdminPage);
    const offer = cookie.read(req.get('cookie'));
    const bound = await stores.webhookLinks.find(actor.vaultId);
    if (bound !== undefined)
      return offer === undefined
        ? send(res, 200, html.boundPage(bound.url))
        : send(res, 409, html.boundAlreadyPage(bound.url));
    if (offer === undefined) return send(res, 400, html.noOfferPage);
    const user = await stores.users.get(actor.vaultId, actor.userId);
    send(res, 200, html.confirmPage(offer, user?.email ?? actor.userId, PATH));
  };

  const bind = async (req: Request, res: Response): Promise<void> => {
    if (!comesFromOrigin((name) => req.get(name), ownOrigin))
      throw refusal('FORBIDDEN', 'This request does not come from a page of this service.');
    const actor = await signedIn(req);
    if (actor === undefined) return send(res, 401, html.signInPage);
    if (actor.role !== 'admin') return send(res, 403, html.notAdminPage);
    const { code, webhookUrl, hmacHash } = await readFormBody(req);
    const offer = readOffer({ code, webhookUrl, hmacHash });
    if (offer === undefined) return send(res, 400, html.noOfferPage);
    await refuseWhileLocked(stores, actor.vaultId);
    await binder.bind(actor, offer, (work) =>
      unitOfWork.run(actor.vaultId, async (inside) => {
        await refuseWhileLocked(inside, actor.vaultId);
        return work(inside);
      }),
    );
    res.setHeader('Set-Cookie', cookie.clear());
    res.redirect(303, PATH);
  };

  const bindOrExplain = (req: Request, res: Response): Promise<void> =>
    bind(req, res).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      const { code, message, details } = error as AppError<ErrorCode>;
      send(res, ERROR_STATUS[code], html.failedPage(explanation(message, details)));
    });

  return Router({ caseSensitive: true, strict: true })
    .use(PATH, pageHeaders({ https }))
    .get(PATH, route(show))
    .post(PATH, route(bindOrExplain))
    .all(PATH, methodNotAllowed(['GET', 'HEAD', 'POST']));
}

function offerInQuery({ query }: Request): BindOffer | undefined {
  const { code, webhook_url: encodedUrl, hmac_hash: hmacHash } = query;
  if (typeof code !== 'string' || typeof encodedUrl !== 'string' || typeof hmacHash !== 'string')
    return undefined;
  return readOffer({ code, webhookUrl: decodeWebhookUrl(encodedUrl), hmacHash });
}

/** A refusal's message; where it is about the address, what is wrong with it. */
function explanation(message: string, details: AppError['details']): string {
  const issues = details?.['issues'];
  if (!Array.isArray(issues)) return message;
  const texts = (issues as readonly { readonly message: string }[]).map((issue) => issue.message);
  return `The webhook's address ${texts.join(', and ')}.`;
}

function send(res: Response, status: number, { title, body }: html.PageContent): void {
  res.status(status).type('html').send(htmlPage(title, body));
}
