import type { Request, RequestHandler, Response } from 'express';
import { readBody, rejectByHead } from '@svault/server-kit/raw-body';
import { adoptRequestId } from '@svault/server-kit/request-id';
import { respondJson } from '@svault/server-kit/respond';
import { type StoreBody, storeBodySchema } from '@svault/shared/schemas';
import type { BindingReader } from '../binding/binding.ts';
import { ApiError } from '../errors.ts';
import { type TicketAuthenticator, bearerTicketOf } from '../http/authenticate-ticket.ts';
import { MAX_BODY_BYTES, parseBody, parseJsonBody } from '../http/body.ts';
import { endpoint } from '../http/endpoint.ts';
import type { StoreByTicket } from '../vault/store-by-ticket.ts';
import { ROW_OVERHEAD_BYTES, type WriteQuota } from './storage/write-quota.ts';

const BOUNDS = { maxBytes: MAX_BODY_BYTES['/v1/store'], sender: 'known' } as const;

/** `POST /v1/store`, from the owner's browser or CLI (PROTOCOL.md section 5.5). */
export function createStoreRoute(deps: {
  readonly binding: BindingReader;
  readonly tickets: Pick<TicketAuthenticator, 'authenticate'>;
  readonly storeByTicket: StoreByTicket;
  readonly quota: WriteQuota;
}): RequestHandler {
  const handle = async (req: Request, res: Response): Promise<void> => {
    rejectByHead(req, BOUNDS);
    // Consumed before a byte of the body is read: a ticket permits one body, valid or not (TIX-33).
    const ticket = await deps.tickets.authenticate('store', bearerTicketOf(req));
    adoptRequestId(req, ticket.jti);
    const raw = await readBody(req, BOUNDS);
    deps.quota.take('records', ROW_OVERHEAD_BYTES + raw.length);
    const readStored = (): StoreBody => parseBody(storeBodySchema, parseJsonBody(req, raw));
    respondJson(res, await deps.storeByTicket(ticket, readStored));
  };
  return endpoint('/v1/store', ['POST'], handle, (handler) => withCors(deps.binding, handler));
}

/**
 * CORS (PROTOCOL.md section 5.5): pages of the bound control plane's origin may post, and read every answer, errors
 * too. Any other origin is rejected before the ticket is read. A request without an origin comes from a program.
 */
function withCors(binding: BindingReader, handler: RequestHandler): RequestHandler {
  return (req, res, next) => {
    const { origin } = req.headers;
    if (origin === undefined) return handler(req, res, next);
    const bound = binding();
    if (bound?.complete !== true || origin !== new URL(bound.serviceBaseUrl).origin)
      throw new ApiError('ORIGIN_NOT_ALLOWED', 'this origin may not store here');
    res.setHeader('Access-Control-Allow-Origin', origin);
    res.setHeader('Vary', 'Origin');
    if (req.method !== 'OPTIONS') return handler(req, res, next);
    res.setHeader('Access-Control-Allow-Methods', 'POST');
    res.setHeader('Access-Control-Allow-Headers', 'authorization, content-type');
    res.statusCode = 204;
    res.end();
  };
}
