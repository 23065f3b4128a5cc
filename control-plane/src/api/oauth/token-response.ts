import { type Request, type RequestHandler, type Response, Router } from 'express';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';
import { AppError } from '@svault/shared';
import { readFormBody } from '../pages/form-body.ts';

/** What OAuth's own endpoints refuse with: RFC 6749 section 5.2, RFC 7591 section 3.2.2, RFC 8707 section 2. */
export type OauthErrorCode =
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_target'
  | 'unsupported_grant_type';

/**
 * A refusal in OAuth's words, answered with 400, or with 401 where there is a `challenge` for `WWW-Authenticate`. `message` is
 * the `error_description`; RFC 6749 keeps quotes and what is not ASCII out of it.
 */
export class OauthRefused extends Error {
  readonly code: OauthErrorCode;
  readonly challenge: string | undefined;

  constructor(code: OauthErrorCode, description: string, challenge?: string) {
    super(description);
    this.code = code;
    this.challenge = challenge;
  }
}

/**
 * Clients are public, so that one which authenticates by a header has a secret of another server. It is told so by the
 * scheme that it used (RFC 6749 section 5.2; RFC 7009 section 2.1 and RFC 7662 section 2.3 refer to it).
 */
function refuseClientAuthentication({ headers: { authorization } }: Request): void {
  if (authorization === undefined) return;
  const scheme = SCHEME.exec(authorization)?.[0] ?? 'Basic';
  // RFC 6750 section 3.1.
  const error = scheme.toLowerCase() === 'bearer' ? ', error="invalid_token"' : '';
  const why = 'clients authenticate by nothing here: send client_id in the body, and no Authorization header';
  throw new OauthRefused('invalid_client', why, `${scheme} realm="svault"${error}`);
}

/** RFC 9110 section 11.1: a token; longer ones are nobody's. */
const SCHEME = /^[\w!#$%&'*+.^`|~-]{1,32}(?= |$)/;

/** An endpoint of OAuth's: POST alone, and JSON whatever comes of it. */
export function oauthEndpoint(
  path: string,
  options: {
    /** Pages of any origin may call it and read the answer (contract.md, "MCP"): nothing there rests on a cookie. */
    readonly anyOrigin: boolean;
    readonly handle: (req: Request, res: Response) => Promise<void>;
  },
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const mounted = router.route(path);
  if (options.anyOrigin) mounted.all(allowAnyOrigin('POST'));
  const allowed = options.anyOrigin ? ['POST', 'OPTIONS'] : ['POST'];
  mounted.post(answering(options.handle)).all(methodNotAllowed(allowed));
  return router;
}

/** CORS for callers of any origin, and the answer to their preflights. @param method the one that is allowed */
export function allowAnyOrigin(method: 'GET' | 'POST'): RequestHandler {
  return (req, res, next) => {
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.setHeader('Access-Control-Expose-Headers', 'Retry-After, WWW-Authenticate');
    if (req.method !== 'OPTIONS') return next();
    res.setHeader('Access-Control-Allow-Methods', method);
    // The asterisk stands for every name but this one (Fetch, "CORS-preflight fetch").
    res.setHeader('Access-Control-Allow-Headers', '*, Authorization');
    res.setHeader('Access-Control-Max-Age', '3600');
    res.status(204).end();
  };
}

/** @throws from the returned handler, what is no refusal in OAuth's words: the error handler has the words for those */
function answering(handle: (req: Request, res: Response) => Promise<void>): RequestHandler {
  return route(async (req, res) => {
    try {
      await handle(req, res);
    } catch (error) {
      if (!(error instanceof OauthRefused)) throw error;
      if (error.challenge !== undefined) res.setHeader('WWW-Authenticate', error.challenge);
      res
        .status(error.challenge === undefined ? 400 : 401)
        .json({ error: error.code, error_description: error.message });
    }
  });
}

/** The parameters of a request, by their names. */
export type OauthForm = Readonly<Partial<Record<string, string>>>;

/**
 * Reads a request's parameters, at most 16 KiB of them. One without a value counts as left out (RFC 6749 section 3.2).
 *
 * @throws OauthRefused invalid_client for an Authorization header, before anything is read; invalid_request for another
 *   content type and for a parameter that occurs twice; AppError TOO_LARGE
 */
export async function readOauthForm(req: Request): Promise<OauthForm> {
  refuseClientAuthentication(req);
  try {
    const form = await readFormBody(req);
    return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'TOO_LARGE') throw error;
    throw new OauthRefused('invalid_request', error.message);
  }
}

/** @throws OauthRefused invalid_request where it is left out */
export function required(form: OauthForm, name: string): string {
  const value = form[name];
  if (value === undefined) throw new OauthRefused('invalid_request', `${name} is missing`);
  return value;
}
