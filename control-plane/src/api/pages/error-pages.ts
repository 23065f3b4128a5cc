import type { SendErrorPage } from '@svault/server-kit/error-handler';
import { wantsPage } from '@svault/server-kit/respond-page';
import { safeHtml } from '@svault/server-kit/safe-html';
import { pageHeaders } from '@svault/server-kit/security-headers';
import { type PageContent, pageOfError, sendPage } from './page.ts';

const API = /^\/(api|\.well-known)\//;

/** For the error handler. */
export function createErrorPages({ https }: { readonly https: boolean }): SendErrorPage {
  // Headers that the page's own route has set stay: its window's opener, above all.
  const setHeaders = pageHeaders({ https, keepsOpener: true });
  return (res, refusal, closes) => {
    if (!wantsPage(res.req, API.test(res.req.path))) return false;
    void setHeaders(res.req, res, () => undefined);
    const page = refusal.code === 'NOT_FOUND' ? notFoundPage : pageOfError(refusal);
    sendPage(res, refusal.status, page, closes);
    return true;
  };
}

const notFoundPage: PageContent = {
  name: 'not-found',
  title: 'There is no page here',
  body: safeHtml`<p>Nothing is at this address. It may be mistyped, or the page was moved.</p>`,
  next: safeHtml`<p>Start at <a href="/login">the sign-in page</a>.</p>`,
};
