import type { IncomingMessage } from 'node:http';
import { type SignedMessage, authorityOf, headerPairs, signedPath } from '@svault/shared';

/**
 * What a signature of this request has to cover (protocol section 3). The authority is the configured one, since
 * tunnels rewrite `Host`; the path is the configured prefix and the endpoint's path as it was sent, nothing decoded.
 *
 * @param req with the prefix of the public address already taken off its target (see strip-prefix.ts)
 */
export function createSignedMessageReader(
  webhookUrl: string,
): (req: IncomingMessage, body: Uint8Array) => SignedMessage {
  const authority = authorityOf(webhookUrl);
  const prefix = signedPath(webhookUrl, '');
  return (req, body) => {
    const { path, query } = splitTarget(req.url ?? '');
    return {
      method: req.method ?? '',
      authority,
      path: prefix + path,
      query,
      headers: headerPairs(req.rawHeaders),
      body,
    };
  };
}

function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const at = target.indexOf('?');
  return at < 0 ? { path: target, query: '' } : { path: target.slice(0, at), query: target.slice(at) };
}
