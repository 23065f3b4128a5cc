import type { RequestHandler } from 'express';
import { respondJson } from '@svault/server-kit/respond';
import { Secret } from '@svault/shared';
import { refreshNotifySchema, refreshRequestSchema } from '@svault/shared/schemas';
import type { RequestReceiver } from '../http/authenticate-request.ts';
import { parseBody } from '../http/body.ts';
import { signedPost } from '../http/endpoint.ts';
import type { Leases } from '../refresh/lease.ts';
import type { NotifyRefresh } from '../refresh/notify.ts';

/** `POST /v1/refresh-notify`, signed (PROTOCOL.md section 7). It ignores the hints. */
export function createRefreshNotifyRoute(deps: {
  readonly receiveRequest: RequestReceiver;
  readonly notifyRefresh: NotifyRefresh;
}): RequestHandler {
  return signedPost('/v1/refresh-notify', deps.receiveRequest, async (body, res) => {
    const { serviceName, reason } = parseBody(refreshNotifySchema, body);
    const answer = await deps.notifyRefresh({ serviceName, reason });
    respondJson(res, answer, 'accepted' in answer ? 202 : 200);
  });
}

/** `POST /v1/refresh`, signed: a lease, and a refresh under it (PROTOCOL.md section 7). No answer holds a token. */
export function createRefreshRoute(deps: {
  readonly receiveRequest: RequestReceiver;
  readonly leases: Leases;
}): RequestHandler {
  return signedPost('/v1/refresh', deps.receiveRequest, async (body, res) => {
    const request = parseBody(refreshRequestSchema, body);
    if (request.phase === 'get') return respondJson(res, deps.leases.get(request.serviceName));
    const { leaseId, clientSecret, clientAssertion } = request;
    const authentication = {
      clientSecret: clientSecret === undefined ? undefined : new Secret(clientSecret),
      clientAssertion: clientAssertion === undefined ? undefined : new Secret(clientAssertion),
    };
    respondJson(res, await deps.leases.update(leaseId, authentication));
  });
}
