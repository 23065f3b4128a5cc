import type { RequestHandler } from 'express';
import { requestIdOf } from '@svault/server-kit/request-id';
import { respondJson } from '@svault/server-kit/respond';
import { VERSION } from '@svault/server-kit/version';
import { type Clock, formatTime } from '@svault/shared';
import type { SignedHealth } from '@svault/shared/schemas';
import type { BindingReader } from '../binding/binding.ts';
import { CLAIMED_CAPABILITIES } from '../config/program.ts';
import { ApiError } from '../errors.ts';
import type { RequestReceiver } from '../http/authenticate-request.ts';
import { MAX_BODY_BYTES, parseJsonBody } from '../http/body.ts';
import { endpoint } from '../http/endpoint.ts';

/** `GET /healthz`: the process is up. `GET /readyz`: it can serve and does not stop; otherwise 503 and the reason. */
export function createProbeRoutes(deps: {
  /** Rejects where the database takes no writes. */
  readonly isReady: () => Promise<boolean>;
  /** The program is about to stop: a load balancer must send it no new requests. */
  readonly isLeaving: () => boolean;
}): readonly RequestHandler[] {
  return [
    endpoint('/healthz', ['GET'], (_req, res) => respondJson(res, { status: 'ok' })),
    endpoint('/readyz', ['GET'], async (req, res) => {
      const requestId = requestIdOf(req);
      if (deps.isLeaving())
        return respondJson(
          res,
          { error: 'this process is about to stop', code: 'UNAVAILABLE', requestId },
          503,
        );
      if (!(await deps.isReady())) throw new ApiError('UNAVAILABLE', 'not ready');
      respondJson(res, { status: 'ok' });
    }),
  ];
}

/** `GET /v1/health`, unauthenticated, says only `ok`; `POST /v1/health` is signed (PROTOCOL.md section 5.2). */
export function createHealthRoute(deps: {
  readonly receiveRequest: RequestReceiver;
  readonly binding: BindingReader;
  readonly clock: Clock;
}): RequestHandler {
  return endpoint('/v1/health', ['GET', 'POST'], async (req, res) => {
    if (req.method === 'GET') return respondJson(res, { status: 'ok' });
    const { body: raw } = await deps.receiveRequest(req, { maxBytes: MAX_BODY_BYTES['/v1/health'] });
    if (raw.length > 0) parseJsonBody(req, raw);
    const binding = deps.binding();
    if (binding === undefined) throw new ApiError('UNAVAILABLE', 'the binding was just erased');
    const health: SignedHealth = {
      status: 'ok',
      protocol: 'v1',
      // With the program's name, since other authors' webhooks have versions of their own.
      version: `svault/${VERSION}`,
      webhookId: binding.webhookId,
      capabilities: [...CLAIMED_CAPABILITIES],
      time: formatTime(deps.clock.now()),
      serviceUrl: binding.serviceBaseUrl,
    };
    respondJson(res, health);
  });
}
