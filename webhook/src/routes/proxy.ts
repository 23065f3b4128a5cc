import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
import { Router } from 'express';
import { noteEventStream } from '@svault/server-kit/event-stream';
import { goneSignal } from '@svault/server-kit/gone-signal';
import { readBody } from '@svault/server-kit/raw-body';
import { only, route } from '@svault/server-kit/request-handler';
import { headerPairs } from '@svault/shared';
import type { RequestAuthentication } from '../http/authenticate-request.ts';
import type { TicketAuthenticator, VerifiedTicket } from '../http/authenticate-ticket.ts';
import type { UpstreamAnswer } from '../proxy/forward.ts';
import type { CallThroughProxy } from '../proxy/proxied-call.ts';

/** Protocol section 2: request bodies of this endpoint. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** A larger one is read on only for who signed its head. */
const LARGE_BODY_BYTES = 64 * 1024;
/** Who answers, in a header of every answer (protocol section 5.6). */
const ORIGIN_HEADER = 'sv-proxy-origin';
const NOTHING = Buffer.alloc(0);

/** `POST /v1/proxy`: an agent's request, with the credential put in here (protocol section 5.6). */
export function createProxyRoute(deps: {
  readonly requests: Pick<RequestAuthentication, 'verify' | 'verifyHead' | 'refuse'>;
  readonly tickets: Pick<TicketAuthenticator, 'verify'>;
  readonly call: CallThroughProxy;
}): Router {
  const { requests, tickets, call } = deps;
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/v1/proxy',
    (_req, res, next) => {
      res.setHeader(ORIGIN_HEADER, 'webhook');
      next();
    },
    only(['POST']),
    route(async (req, res) => {
      const signal = goneSignal(res);
      const admit = async (): Promise<void> => requests.verifyHead(req);
      const body = await readBody(req, {
        maxBytes: MAX_BODY_BYTES,
        large: { bytes: LARGE_BODY_BYTES, admit },
      });
      const signed = requests.verify(req, body);
      let verified: VerifiedTicket<'proxy'>;
      try {
        verified = tickets.verify('proxy', req.headers['sv-ticket'] as string | undefined);
      } catch (error) {
        await signed.use();
        throw error;
      }
      const { ticket } = verified;
      const { useNow } = signed;
      const fields = headerPairs(req.rawHeaders);
      const refused = await call({ ticket, useNow, fields, body, signal }, (head) => {
        noteEventStream(res, head.fields, ticket.htm === 'GET' ? 'standing' : 'answering');
        return begin(res, head);
      });
      if (refused !== undefined) throw requests.refuse(req, refused.unusable);
    }),
  );
  return router;
}

/**
 * Sends the head at once, as the upstream wrote it: the first event may be long in coming.
 *
 * @throws TypeError for a head that cannot be sent on; what we would answer then is still as it was
 */
function begin(res: ServerResponse, { status, fields }: UpstreamAnswer): ServerResponse {
  for (const [name, value] of fields) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  for (const [name, value] of fields) res.appendHeader(name, value);
  res.setHeader(ORIGIN_HEADER, 'upstream');
  res.statusCode = status;
  // Not `flushHeaders`, which writes Latin-1 values as UTF-8.
  res.write(NOTHING);
  return res;
}
