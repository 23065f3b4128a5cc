import type { IncomingMessage } from 'node:http';
import { newTimeOrderedId } from '@svault/shared';

export const REQUEST_ID_HEADER = 'X-Request-Id';

const REQUEST_ID = Symbol('request id');
type Identified = Partial<Pick<IncomingMessage, 'url'>> & { [REQUEST_ID]?: string };

/**
 * The id of a request in its response, in logs and in the audit log: `req_` and 22 characters of base64url.
 *
 * A caller's own `X-Request-Id` is ignored: whoever could choose ids could make other requests look like theirs.
 */
export const requestIdOf = (req: Identified): string =>
  (req[REQUEST_ID] ??= newTimeOrderedId('req', Date.now()));

/** Takes over the id of the request by which a verified ticket was issued: both programs then have the same one. */
export function adoptRequestId(req: Identified, id: string): void {
  req[REQUEST_ID] = id;
}
