import { type Request, type RequestHandler, type Response, Router } from 'express';
import { requestIdOf } from '@svault/server-kit/request-id';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';
import { AppError } from '@svault/shared';
import type { OAUTH_ERRORS } from '@svault/shared/error-catalog';
import { readFormBody } from '../pages/page.ts';

/** Codes that an OAuth endpoint responds with; the others of the catalogue are part of a redirect. */
type OauthErrorCode = {
  readonly [Code in keyof typeof OAUTH_ERRORS]: (typeof OAUTH_ERRORS)[Code]['statuses'] extends readonly []
    ? never
    : Code;
}[keyof typeof OAUTH_ERRORS];

/** 400, or 401 with a `challenge`; `message` is the ASCII `error_description` (RFC 6749 section 5.2). */
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
 * Clients are public, so one that authenticates by a header uses a secret of another server. The challenge names the scheme
 * that it used (RFC 6749 section 5.2; RFC 7009 section 2.1 and RFC 7662 section 2.3 refer to it).
 */
function rejectClientAuthentication({ headers: { authorization } }: Request): void {
  if (authorization === undefined) return;
  const scheme = SCHEME.exec(authorization)?.[0] ?? 'Basic';
  // RFC 6750 section 3.1.
  const error = scheme.toLowerCase() === 'bearer' ? ', error="invalid_token"' : '';
  const why = 'clients authenticate by nothing here: send client_id in the body, and no Authorization header';
  throw new OauthRefused('invalid_client', why, `${scheme} realm="svault"${error}`);
}

/** RFC 9110 section 11.1: a token. */
const SCHEME = /^[\w!#$%&'*+.^`|~-]{1,32}(?= |$)/;

/** An OAuth endpoint: POST only, with a JSON response in every case. */
export function oauthEndpoint(
  path: string,
  options: {
    /** Whether pages of any origin may call it and read the response; no cookie authorizes anything there. */
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

/** CORS for callers of any origin, preflights included. @param method the allowed one */
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

/** @throws from the returned handler, every error that is not OAuth's; the error handler answers those */
function answering(handle: (req: Request, res: Response) => Promise<void>): RequestHandler {
  return route(async (req, res) => {
    try {
      await handle(req, res);
    } catch (error) {
      if (!(error instanceof OauthRefused)) throw error;
      if (error.challenge !== undefined) res.setHeader('WWW-Authenticate', error.challenge);
      const { code, message } = error;
      res
        .status(error.challenge === undefined ? 400 : 401)
        .json({ error: code, error_description: message, requestId: requestIdOf(req) });
    }
  });
}

/** The parameters of a request by name. */
export type OauthForm = Readonly<Partial<Record<string, string>>>;

/**
 * Reads a request's parameters, at most 16 KiB of them. One without a value counts as omitted (RFC 6749 section 3.2).
 * @throws OauthRefused invalid_client for an Authorization header, before anything is read; invalid_request for another
 *   content type and for a parameter that occurs twice; ApiError TOO_LARGE
 */
export async function readOauthForm(req: Request): Promise<OauthForm> {
  rejectClientAuthentication(req);
  try {
    const form = await readFormBody(req);
    return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'TOO_LARGE') throw error;
    throw new OauthRefused('invalid_request', error.message);
  }
}

/** @throws OauthRefused invalid_request where it is omitted */
export function required(form: OauthForm, name: string): string {
  const value = form[name];
  if (value === undefined) throw new OauthRefused('invalid_request', `${name} is missing`);
  return value;
}
