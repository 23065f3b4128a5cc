import type { RequestHandler } from 'express';
import { sha256, toBase64, utf8 } from '@svault/shared';
import { pageHeaders } from '@svault/server-kit/security-headers';

/**
 * Headers of the bind page: no script, only the page's own style, forms to the page itself, no frame.
 *
 * @param options.style the page's whole style; its hash goes into the policy
 * @param options.serviceOrigin only for the page shown after the set-up token: its form is answered by a redirect
 *   there, which `form-action` covers too. Before the token the header must not tell the service.
 */
export function bindPageHeaders(options: {
  readonly https: boolean;
  readonly style: string;
  readonly serviceOrigin?: string;
}): RequestHandler {
  const { https, style, serviceOrigin } = options;
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${toBase64(sha256(utf8(style)))}'`,
    `form-action 'self'${serviceOrigin === undefined ? '' : ` ${serviceOrigin}`}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  const common = pageHeaders({ https });
  return (req, res, next) => {
    void common(req, res, (error?: unknown) => {
      res.setHeader('Content-Security-Policy', policy);
      next(error);
    });
  };
}
