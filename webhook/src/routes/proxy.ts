import {
  type IncomingMessage,
  type ServerResponse,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import type { DirectHandler } from '@svault/server-kit/direct-routes';
import { rejectMethod } from '@svault/server-kit/request-handler';
import { adoptRequestId } from '@svault/server-kit/request-id';
import { abortOnDisconnect, markEventStream } from '@svault/server-kit/streamed-response';
import { withStaticHeaders } from '@svault/server-kit/static-headers';
import { HTTP_TARGET_HEADER, type HeaderPairs, type ProxyTicket } from '@svault/shared';
import type { RequestAuthentication } from '../http/authenticate-request.ts';
import { MAX_BODY_BYTES } from '../http/body.ts';
import type { TicketAuthenticator } from '../http/authenticate-ticket.ts';
import type { UpstreamAnswer } from '../proxy/forward.ts';
import type { CallThroughProxy } from '../proxy/proxied-call.ts';

/** A header of every answer says whether webhook or upstream answers (PROTOCOL.md section 5.6). */
const ORIGIN_HEADER = 'sv-proxy-origin';
const NOTHING = Buffer.alloc(0);

/** `POST /v1/proxy`: an agent's request, into which the webhook injects the credential (PROTOCOL.md section 5.6). */
export function createProxyHandler(deps: {
  readonly requests: Pick<RequestAuthentication, 'verify' | 'refuse'>;
  readonly tickets: Pick<TicketAuthenticator, 'verify'>;
  readonly call: CallThroughProxy;
  /** Of every answer but an upstream's. */
  readonly staticHeaders: HeaderPairs;
}): DirectHandler {
  const { requests, tickets, call, staticHeaders } = deps;
  const refusalHeaders = [...staticHeaders, [ORIGIN_HEADER, 'webhook'] as const];
  return withStaticHeaders(refusalHeaders, async (req: IncomingMessage, res: ServerResponse) => {
    if (req.method !== 'POST') rejectMethod(req, ['POST']);
    const signal = abortOnDisconnect(res);
    const target = req.headers[HTTP_TARGET_HEADER] as string | undefined;
    const signed = await requests.verify(req, {
      maxBytes: MAX_BODY_BYTES['/v1/proxy'],
      // The body of a call to an HTTP API is forwarded still encoded (PROTOCOL.md HTP-20).
      coding: target === undefined ? 'none' : 'any',
    });
    let ticket: ProxyTicket;
    try {
      ({ ticket } = tickets.verify('proxy', req.headers['sv-ticket'] as string | undefined));
    } catch (error) {
      await signed.claim();
      throw error;
    }
    adoptRequestId(req, ticket.jti);
    const { claimNow, body } = signed;
    const fields = target === undefined ? signed.fields : coveredFields(signed.fields, signed.covered);
    const unclaimed = await call({ ticket, target, claimNow, fields, body, signal }, (head) => {
      markEventStream(res, head.fields, ticket.htm === 'GET' ? 'standing' : 'answering');
      return begin(res, ticket.htm === 'HEAD' ? withoutLength(head) : head);
    });
    if (unclaimed !== undefined) throw requests.refuse(req, unclaimed.unclaimable);
  });
}

/** The signed fields: nothing between the control plane and the webhook can have added them (PROTOCOL.md HTP-18). */
function coveredFields(fields: HeaderPairs, covered: readonly string[]): HeaderPairs {
  const names = new Set(covered);
  return fields.filter(([name]) => names.has(name.toLowerCase()));
}

/** The webhook answers a `POST`, so its `content-length` would announce a body (PROTOCOL.md HTP-28). */
const withoutLength = ({ status, fields }: UpstreamAnswer): UpstreamAnswer => ({
  status,
  fields: fields.map(([name, value]) => [name === 'content-length' ? 'sv-content-length' : name, value]),
});

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
  res.writeHead(status, [...fields.flat(), ORIGIN_HEADER, 'upstream']);
  // Not `flushHeaders`, which writes Latin-1 values as UTF-8.
  res.write(NOTHING);
  return res;
}
