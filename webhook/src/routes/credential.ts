import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DirectHandler } from '@svault/server-kit/direct-routes';
import { adoptRequestId } from '@svault/server-kit/request-id';
import { rejectMethod } from '@svault/server-kit/request-handler';
import { respond } from '@svault/server-kit/respond';
import { withStaticHeaders } from '@svault/server-kit/static-headers';
import type { HeaderPairs } from '@svault/shared';
import type { Deliver } from '../delivery/deliver.ts';
import { type TicketAuthenticator, credentialTicketOf } from '../http/authenticate-ticket.ts';

/** `GET /v1/credential`, from the agent, which follows the control plane's 307 (PROTOCOL.md section 5.4). */
export function createCredentialHandler(deps: {
  readonly tickets: Pick<TicketAuthenticator, 'verify' | 'refuse'>;
  readonly deliver: Deliver;
  readonly countStrayCredentials: (req: IncomingMessage) => void;
  /** Of every answer. */
  readonly staticHeaders: HeaderPairs;
}): DirectHandler {
  const { tickets, deliver, countStrayCredentials, staticHeaders } = deps;
  const headers = staticHeaders.flat();
  return withStaticHeaders(staticHeaders, async (req: IncomingMessage, res: ServerResponse) => {
    if (req.method !== 'GET') rejectMethod(req, ['GET']);
    countStrayCredentials(req);
    const unclaimed = tickets.verify('credential', credentialTicketOf(req));
    adoptRequestId(req, unclaimed.ticket.jti);
    const delivered = await deliver(unclaimed);
    if ('unclaimable' in delivered) throw tickets.refuse('credential', delivered.unclaimable);
    const { body, contentType } = delivered;
    respond(res, { status: 200, headers: [...headers, 'Content-Type', contentType], body });
  });
}
