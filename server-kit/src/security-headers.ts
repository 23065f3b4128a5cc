import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import helmet from 'helmet';
import { sha256, toBase64, utf8 } from '@svault/shared';
import { PAGE_STYLE } from './page-style.ts';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.ts';

/** Headers of every JSON answer, precomputed: helmet as middleware costs about as much as the rest of a refusal. */
const API_HEADERS: ReadonlyArray<readonly [string, string]> = [
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Referrer-Policy', 'no-referrer'],
  ['X-Content-Type-Options', 'nosniff'],
];

const STRICT_TRANSPORT: readonly [string, string] = [
  'Strict-Transport-Security',
  'max-age=31536000; includeSubDomains',
];

/** {@link API_HEADERS}, and HSTS where the public address is https. */
export const apiHeaderList = ({ https }: { readonly https: boolean }): typeof API_HEADERS =>
  https ? [...API_HEADERS, STRICT_TRANSPORT] : API_HEADERS;

/** Sets the {@link apiHeaderList}, and the request's id. */
export function apiHeaders(options: { readonly https: boolean }): RequestHandler {
  const headers = apiHeaderList(options);
  return (req: IncomingMessage, res: ServerResponse, next: () => void): void => {
    res.setHeader(REQUEST_ID_HEADER, requestIdOf(req));
    for (const [name, value] of headers) res.setHeader(name, value);
    next();
  };
}

const hashSource = (text: string): string => `'sha256-${toBase64(sha256(utf8(text)))}'`;
const STYLE_SOURCE = hashSource(PAGE_STYLE);

/**
 * Headers of a server-rendered page: no script, no style but the pages' own, forms only to the page's own origin and
 * to the origins given, never inside a frame.
 * @param options.formTargets further origins a form's answer may redirect to (CSP `form-action` covers redirects)
 * @param options.keepsOpener a page of another site that opened this one in a window is told when it is left again: clients
 *   that are pages wait so for what a person decides. Absent, that page loses sight of the window
 */
export function pageHeaders(options: {
  readonly https: boolean;
  readonly formTargets?: readonly string[];
  readonly keepsOpener?: boolean;
}): RequestHandler {
  const middleware = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: [STYLE_SOURCE],
        formAction: ["'self'", ...(options.formTargets ?? [])],
        frameAncestors: ["'none'"],
        baseUri: ["'none'"],
      },
    },
    crossOriginOpenerPolicy: options.keepsOpener !== true && { policy: 'same-origin' },
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: options.https,
    xFrameOptions: { action: 'deny' },
  });
  return (req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    middleware(req, res, next);
  };
}

/**
 * Lets the page that is being sent run this script and no other. Called after {@link pageHeaders}.
 * @param options.calls whether it may call the page's own origin
 */
export function allowScript(
  res: ServerResponse,
  script: string,
  { calls }: { readonly calls: boolean },
): void {
  const policy = res.getHeader('Content-Security-Policy');
  if (typeof policy !== 'string') return;
  const connects = calls ? ";connect-src 'self'" : '';
  res.setHeader('Content-Security-Policy', `${policy};script-src ${hashSource(script)}${connects}`);
}
