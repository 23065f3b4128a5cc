import type { RequestHandler } from 'express';

/**
 * Takes the path of the webhook's public address off a request's target, for a webhook that is reached directly under
 * an address with a path. Behind a proxy that strips it already, nothing is left to do (protocol section 3).
 *
 * @param pathPrefix empty, or `/…` without trailing slash
 */
export function stripPrefix(pathPrefix: string): RequestHandler {
  return (req, _res, next) => {
    if (pathPrefix !== '' && req.url.startsWith(`${pathPrefix}/`)) req.url = req.url.slice(pathPrefix.length);
    next();
  };
}
