import type { RequestHandler } from 'express';

/** Where every path of this webhook begins. */
const OWN_PATH = /^\/(?:v1\/|bind|healthz|readyz)/;

/**
 * Takes the path of the webhook's public address off a request's target, for a webhook that is reached directly under
 * an address with a path. Behind a proxy that strips it already, nothing is left to do (protocol section 3): what would
 * leave no path of ours, such as `/health` of `/v1/health` under an address that ends in `/v1`, is no prefix.
 *
 * @param pathPrefix empty, or `/…` without trailing slash
 */
export function stripPrefix(pathPrefix: string): RequestHandler {
  return (req, _res, next) => {
    const rest = req.url.slice(pathPrefix.length);
    if (req.url.startsWith(`${pathPrefix}/`) && OWN_PATH.test(rest)) req.url = rest;
    next();
  };
}
