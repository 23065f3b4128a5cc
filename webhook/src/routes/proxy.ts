import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
import type { Request, Response, Router } from 'express';
import { adoptRequestId } from '@svault/server-kit/request-id';
import { disconnectSignal, markEventStream } from '@svault/server-kit/streamed-response';
import { type ProxyTicket, headerPairs } from '@svault/shared';
import type { RequestAuthentication } from '../http/authenticate-request.ts';
import { MAX_BODY_BYTES } from '../http/body.ts';
import { endpoint } from '../http/endpoint.ts';
import type { TicketAuthenticator } from '../http/authenticate-ticket.ts';
import type { UpstreamAnswer } from '../proxy/forward.ts';
import type { CallThroughProxy } from '../proxy/proxied-call.ts';

/** A header of every answer says whether webhook or upstream answers (PROTOCOL.md section 5.6). */
const ORIGIN_HEADER = 'sv-proxy-origin';
const NOTHING = Buffer.alloc(0);

/** `POST /v1/proxy`: an agent's request, into which the webhook injects the credential (PROTOCOL.md section 5.6). */
export function createProxyRoute(deps: {
  readonly requests: Pick<RequestAuthentication, 'verify' | 'refuse'>;
  readonly tickets: Pick<TicketAuthenticator, 'verify'>;
  readonly call: CallThroughProxy;
}): Router {
  const { requests, tickets, call } = deps;
  const handle = async (req: Request, res: Response): Promise<void> => {
    const signal = disconnectSignal(res);
    const signed = await requests.verify(req, { maxBytes: MAX_BODY_BYTES['/v1/proxy'] });
    let ticket: ProxyTicket;
    try {
      ({ ticket } = tickets.verify('proxy', req.headers['sv-ticket'] as string | undefined));
    } catch (error) {
      await signed.claim();
      throw error;
    }
    adoptRequestId(req, ticket.jti);
    const { claimNow, body } = signed;
    const fields = headerPairs(req.rawHeaders);
    const unclaimed = await call({ ticket, claimNow, fields, body, signal }, (head) => {
      markEventStream(res, head.fields, ticket.htm === 'GET' ? 'standing' : 'answering');
      return begin(res, head);
    });
    if (unclaimed !== undefined) throw requests.refuse(req, unclaimed.unclaimable);
  };
  return endpoint('/v1/proxy', ['POST'], handle, [
    (_req, res, next) => {
      res.setHeader(ORIGIN_HEADER, 'webhook');
      next();
    },
  ]);
}

/**
 * Sends the head at once, as the upstream wrote it: the first event may come much later.
 *
 * @throws TypeError for a head that cannot be sent; the answer is unchanged then
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
