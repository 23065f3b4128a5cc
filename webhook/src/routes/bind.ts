import type { Request, RequestHandler, Response } from 'express';
import type { BindFlow } from '../binding/bind-flow.ts';
import { cancelledPage, connectPage, setupTokenPage } from '../binding/bind-page.ts';
import { readForm } from '../http/body.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Pages } from '../http/pages.ts';
import { ApiError } from '../errors.ts';

const WRONG_TOKEN = 'That is not the set-up token of this webhook.';
const OLD_PAGE = 'That page is too old or was used already. Enter the set-up token again.';

/** `/bind`, the owner's page: set-up token, then fingerprint and Connect, then a redirect to the control plane. */
export function createBindRoutes(deps: {
  readonly flow: BindFlow;
  readonly pages: Pages;
  readonly serviceUrl: string;
}): RequestHandler {
  const { flow, pages, serviceUrl } = deps;
  const beforeToken = pages.headersOf([]);
  // Connect answers with a redirect to the control plane, to which `form-action` applies too. The header names it only
  // after the set-up token was given.
  const afterToken: RequestHandler = pages.headersOf([new URL(serviceUrl).origin]);

  const handle = async (req: Request, res: Response): Promise<void> => {
    void beforeToken(req, res, () => undefined);
    flow.mustBeOpen();
    if (req.method === 'GET') return pages.send(res, 200, setupTokenPage());
    const { connect_token: offerToken, setup_token: setupToken, decision } = await readForm(req);
    if (offerToken === undefined) return enter(setupToken, res);
    if (decision !== 'cancel') return connect(offerToken, res);
    flow.cancel(offerToken);
    pages.send(res, 200, cancelledPage);
  };
  return endpoint('/bind', ['GET', 'POST'], handle);

  function enter(setupToken: string | undefined, res: Response): void {
    if (setupToken === undefined) throw new ApiError('INVALID_REQUEST', 'the set-up token is missing');
    const offer = flow.enter(setupToken);
    if (offer === undefined) return pages.send(res, 403, setupTokenPage({ problem: WRONG_TOKEN }));
    pages.send(res, 200, connectPage({ ...offer, serviceUrl }), { headers: afterToken });
  }

  async function connect(offerToken: string, res: Response): Promise<void> {
    const link = await flow.connect(offerToken);
    if (link === undefined) return pages.send(res, 403, setupTokenPage({ problem: OLD_PAGE }));
    res.writeHead(303, { Location: link }).end();
  }
}
