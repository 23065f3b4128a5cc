import type { IncomingMessage } from 'node:http';
import { Router } from 'express';
import { only, route } from '@svault/server-kit/request-handler';
import { respond } from '@svault/server-kit/respond';
import type { Deliver } from '../delivery/deliver.ts';
import type { TicketAuthenticator } from '../http/authenticate-ticket.ts';
import { credentialTicketOf } from '../http/ticket-of-request.ts';

/** `GET /v1/credential`, from the agent by way of the 307 (protocol section 5.4). */
export function createCredentialRoute(deps: {
  readonly tickets: Pick<TicketAuthenticator, 'verify' | 'refuse'>;
  readonly deliver: Deliver;
  readonly countStrayCredentials: (req: IncomingMessage, hasQueryTicket: boolean) => void;
}): Router {
  const { tickets, deliver, countStrayCredentials } = deps;
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/v1/credential',
    only(['GET']),
    route(async (req, res) => {
      countStrayCredentials(req, hasTicketParameter(req));
      const delivered = await deliver(tickets.verify('credential', credentialTicketOf(req)));
      if ('unusable' in delivered) throw tickets.refuse('credential', delivered.unusable);
      const { body, contentType } = delivered;
      respond(res, { status: 200, headers: ['Content-Type', contentType], body });
    }),
  );
  return router;
}

const hasTicketParameter = ({ url = '' }: IncomingMessage): boolean => /[?&]ticket=/.test(url);
