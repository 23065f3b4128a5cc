import type { IncomingMessage } from 'node:http';
import { type SignedMessage, authorityOf, headerPairs, signedPath } from '@svault/shared';

/** Every path of this webhook begins like this. */
const OWN_PATH = /^\/(?:v1\/|bind|approvals\/|approvers\/|healthz|readyz)/;

/**
 * Removes the path of the webhook's public address from a request's target, for a webhook that is reached directly
 * under an address with a path (PROTOCOL.md section 3). Behind a proxy that strips the path nothing is left to do: if
 * no path of this webhook would remain, as of `/v1/health` under an address that ends in `/v1`, it is no prefix.
 *
 * @param pathPrefix empty, or `/…` without trailing slash
 */
export function stripPrefix(pathPrefix: string): (req: IncomingMessage) => void {
  return (req) => {
    const { url = '' } = req;
    const rest = url.slice(pathPrefix.length);
    if (url.startsWith(`${pathPrefix}/`) && OWN_PATH.test(rest)) req.url = rest;
  };
}

/**
 * What a request's signature must cover (PROTOCOL.md section 3). The authority is the configured one, since tunnels
 * rewrite `Host`; the path is the configured prefix and the endpoint's path as it was sent, nothing decoded.
 *
 * @returns a function of a request whose target {@link stripPrefix} has handled, and of its body
 */
export function createSignedMessageReader(
  webhookUrl: string,
): (req: IncomingMessage, body: Uint8Array) => SignedMessage {
  const authority = authorityOf(webhookUrl);
  const prefix = signedPath(webhookUrl, '');
  return (req, body) => {
    const { url: target = '', method = '', rawHeaders } = req;
    const queryAt = target.includes('?') ? target.indexOf('?') : target.length;
    return {
      method,
      authority,
      path: prefix + target.slice(0, queryAt),
      query: target.slice(queryAt),
      headers: headerPairs(rawHeaders),
      body,
    };
  };
}
