import type { Refusal, SendErrorPage } from '@svault/server-kit/error-handler';
import type { PageContent, PageIdentity } from '@svault/server-kit/html-page';
import { respondPage, wantsPage } from '@svault/server-kit/respond-page';
import { pageHeaders } from '@svault/server-kit/security-headers';
import type { RequestHandler, Response } from 'express';
import { type WebhookPage, connectedPage, notFoundPage, refusedPage } from '../binding/bind-page.ts';

export type Pages = ReturnType<typeof createPages>;

const API = /^\/v1\//;

/** Sends the pages of a webhook under their headers. */
export function createPages({
  webhookUrl,
  isBound,
}: {
  readonly webhookUrl: string;
  readonly isBound: () => boolean;
}) {
  const identity: PageIdentity = { program: 'webhook', url: webhookUrl };
  const https = webhookUrl.startsWith('https:');
  const headersOf = (formTargets: readonly string[]): RequestHandler => pageHeaders({ https, formTargets });
  const ownHeaders = headersOf([]);

  const send = (
    res: Response,
    status: number,
    page: PageContent,
    {
      headers = ownHeaders,
      closes = false,
    }: { readonly headers?: RequestHandler; readonly closes?: boolean } = {},
  ): void => {
    void headers(res.req, res, () => undefined);
    respondPage(res, { status, identity, closes, ...page });
  };

  /** For the error handler. */
  const sendError: SendErrorPage = (res, refusal, closes) => {
    if (!wantsPage(res.req, API.test(res.req.path))) return false;
    send(res, refusal.status, errorPage(refusal), { closes });
    return true;
  };

  return { headersOf, send, sendError };

  function errorPage(refusal: Refusal): WebhookPage {
    if (refusal.code === 'NOT_FOUND') return notFoundPage(webhookUrl);
    return refusal.code === 'SETUP_REQUIRED' && isBound() ? connectedPage : refusedPage(refusal);
  }
}
