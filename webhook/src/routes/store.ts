import { Router } from 'express';
import { readBody, refuseByHead } from '@svault/server-kit/raw-body';
import { only, route } from '@svault/server-kit/request-handler';
import { respondJson } from '@svault/server-kit/respond';
import { storeBodySchema } from '@svault/shared/schemas';
import type { BindingReader } from '../binding/binding.ts';
import type { TicketAuthenticator } from '../http/authenticate-ticket.ts';
import { MAX_BODY_BYTES } from '../http/body-caps.ts';
import { storeCors } from '../http/cors.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { parseBody } from '../http/parse-body.ts';
import { bearerTicketOf } from '../http/ticket-of-request.ts';
import { ROW_OVERHEAD_BYTES, type WriteQuota } from './storage/write-quota.ts';
import type { StoreByTicket } from '../vault/store-by-ticket.ts';

const BOUNDS = { maxBytes: MAX_BODY_BYTES['/v1/store'], sender: 'known' } as const;

/** `POST /v1/store`, from the owner's browser or CLI (protocol section 5.5). */
export function createStoreRoute(deps: {
  readonly binding: BindingReader;
  readonly tickets: Pick<TicketAuthenticator, 'authenticate'>;
  readonly storeByTicket: StoreByTicket;
  readonly quota: WriteQuota;
}): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/v1/store',
    storeCors({ binding: deps.binding }),
    only(['POST']),
    route(async (req, res) => {
      refuseByHead(req, BOUNDS);
      // Used up before a byte of the body is read: one ticket is one body, whatever comes of it (TIX-33).
      const ticket = await deps.tickets.authenticate('store', bearerTicketOf(req));
      const raw = await readBody(req, BOUNDS);
      deps.quota.take('records', ROW_OVERHEAD_BYTES + raw.length);
      const stored = await deps.storeByTicket(ticket, () =>
        parseBody(storeBodySchema, parseJsonBody(req, raw)),
      );
      respondJson(res, stored);
    }),
  );
  return router;
}
