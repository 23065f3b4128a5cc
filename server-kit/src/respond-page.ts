import type { IncomingMessage, ServerResponse } from 'node:http';
import { type PageContent, type PageIdentity, htmlPage, scriptOf } from './html-page.ts';
import { HTML_CONTENT, respond } from './respond.ts';
import { allowScript } from './security-headers.ts';

/** Writes a page, after `pageHeaders` has set its headers. @param closes as of a whole response */
export function respondPage(
  res: ServerResponse,
  {
    status,
    closes = false,
    ...page
  }: { readonly status: number; readonly closes?: boolean } & PageContent & {
      readonly identity: PageIdentity;
    },
): void {
  const script = scriptOf(page);
  if (script !== undefined) allowScript(res, script, { calls: page.script !== undefined });
  respond(res, { status, headers: HTML_CONTENT, body: htmlPage(page.identity, page), closes });
}

/**
 * Whether a person looks at the response. Outside the API that is who accepts HTML; the API answers with JSON unless a
 * browser says that it navigates there, since some HTTP clients send `Accept: text/html` unasked.
 *
 * @param isApi whether programs call the path
 */
export function wantsPage({ headers }: Pick<IncomingMessage, 'headers'>, isApi = false): boolean {
  if (!(headers.accept ?? '').includes('text/html')) return false;
  return !isApi || headers['sec-fetch-mode'] === 'navigate';
}
