import type { ErrorRequestHandler, Request, RequestHandler, Response, Router } from 'express';
import { AppError, WEBHOOK_ERROR_STATUS, isWebhookErrorCode } from '@svault/shared';
import { pageHeaders } from '@svault/server-kit/security-headers';
import { HTML_CONTENT, respond } from '@svault/server-kit/respond';
import type { BindFlow } from '../binding/bind-flow.ts';
import { connectPage, refusedPage, setupTokenPage } from '../binding/bind-page.ts';
import { readForm } from '../http/body.ts';
import { endpoint } from '../http/endpoint.ts';
import { ApiError } from '../errors.ts';

const WRONG_TOKEN = 'That is not the set-up token of this webhook.';
const OLD_PAGE = 'That page is too old or was used already. Enter the set-up token again.';

/** `/bind`, the owner's page: set-up token, then fingerprint and Connect, then a redirect to the control plane. */
export function createBindRoutes(deps: {
  readonly flow: BindFlow;
  readonly serviceUrl: string;
  readonly webhookUrl: string;
}): Router {
  const { flow, serviceUrl } = deps;
  const https = deps.webhookUrl.startsWith('https:');
  const beforeToken = pageHeaders({ https });
  // Connect answers with a redirect to the control plane, to which `form-action` applies too. The header names it only
  // after the set-up token was given.
  const afterToken = pageHeaders({ https, formTargets: [new URL(serviceUrl).origin] });

  const handle = async (req: Request, res: Response): Promise<void> => {
    void beforeToken(req, res, () => undefined);
    flow.mustBeOpen();
    if (req.method === 'GET') return sendPage(res, 200, setupTokenPage());
    const { connect_token: offerToken, setup_token: setupToken } = await readForm(req);
    if (offerToken === undefined) enter(setupToken, afterToken, res);
    else await connect(offerToken, res);
  };
  return endpoint('/bind', ['GET', 'POST'], handle).use('/bind', refusedAsPage);

  function enter(setupToken: string | undefined, headers: RequestHandler, res: Response): void {
    if (setupToken === undefined) throw new ApiError('INVALID_REQUEST', 'the set-up token is missing');
    const offer = flow.enter(setupToken);
    if (offer === undefined) return sendPage(res, 403, setupTokenPage({ problem: WRONG_TOKEN }));
    void headers(res.req, res, () => sendPage(res, 200, connectPage({ ...offer, serviceUrl })));
  }

  async function connect(offerToken: string, res: Response): Promise<void> {
    const link = await flow.connect(offerToken);
    if (link === undefined) return sendPage(res, 403, setupTokenPage({ problem: OLD_PAGE }));
    res.writeHead(303, { Location: link }).end();
  }
}

const sendPage = (res: Response, status: number, body: string, closes = false): void =>
  respond(res, { status, headers: HTML_CONTENT, body, closes });

/** A browser gets rejections as a page, every other client as JSON from the error handler after this one. */
const refusedAsPage: ErrorRequestHandler = (error: unknown, req, res, next) => {
  const code = error instanceof AppError && isWebhookErrorCode(error.code) ? error.code : undefined;
  const wantsPage = (req.headers.accept ?? '').includes('text/html');
  if (code === undefined || code === 'METHOD_NOT_ALLOWED' || !wantsPage || res.headersSent)
    return next(error);
  const { message, details } = error as AppError;
  if (typeof details?.['retryAfter'] === 'number') res.setHeader('Retry-After', details['retryAfter']);
  sendPage(res, WEBHOOK_ERROR_STATUS[code], refusedPage({ code, message }), !req.complete);
};
