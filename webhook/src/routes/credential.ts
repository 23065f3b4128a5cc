import type { IncomingMessage } from 'node:http';
import type { Router } from 'express';
import { adoptRequestId } from '@svault/server-kit/request-id';
import { respond } from '@svault/server-kit/respond';
import type { Deliver } from '../delivery/deliver.ts';
import { endpoint } from '../http/endpoint.ts';
import { type TicketAuthenticator, credentialTicketOf } from '../http/authenticate-ticket.ts';

/** `GET /v1/credential`, from the agent, which follows the control plane's 307 (PROTOCOL.md section 5.4). */
export function createCredentialRoute(deps: {
  readonly tickets: Pick<TicketAuthenticator, 'verify' | 'refuse'>;
  readonly deliver: Deliver;
  readonly countStrayCredentials: (req: IncomingMessage) => void;
}): Router {
  const { tickets, deliver, countStrayCredentials } = deps;
  return endpoint('/v1/credential', ['GET'], async (req, res) => {
    countStrayCredentials(req);
    const unclaimed = tickets.verify('credential', credentialTicketOf(req));
    adoptRequestId(req, unclaimed.ticket.jti);
    const delivered = await deliver(unclaimed);
    if ('unclaimable' in delivered) throw tickets.refuse('credential', delivered.unclaimable);
    const { body, contentType } = delivered;
    respond(res, { status: 200, headers: ['Content-Type', contentType], body });
  });
}
