import { Router } from 'express';
import { only, route } from '@svault/server-kit/request-handler';
import { respondJson } from '@svault/server-kit/respond';
import { Secret } from '@svault/shared';
import { refreshRequestSchema } from '@svault/shared/schemas';
import type { RequestReceiver } from '../http/authenticate-request.ts';
import { MAX_BODY_BYTES } from '../http/body-caps.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { parseBody } from '../http/parse-body.ts';
import type { Leases } from '../refresh/lease.ts';

/** `POST /v1/refresh`, signed: a lease, and a refresh under it (protocol section 7). No answer holds a token. */
export function createRefreshRoute(deps: {
  readonly receiveRequest: RequestReceiver;
  readonly leases: Leases;
}): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/v1/refresh',
    only(['POST']),
    route(async (req, res) => {
      const { body: raw } = await deps.receiveRequest(req, { maxBytes: MAX_BODY_BYTES['/v1/refresh'] });
      const request = parseBody(refreshRequestSchema, parseJsonBody(req, raw));
      if (request.phase === 'get') return respondJson(res, deps.leases.get(request.serviceName));
      const { leaseId, clientSecret, clientAssertion } = request;
      const authentication = {
        clientSecret: clientSecret === undefined ? undefined : new Secret(clientSecret),
        clientAssertion: clientAssertion === undefined ? undefined : new Secret(clientAssertion),
      };
      respondJson(res, await deps.leases.update(leaseId, authentication));
    }),
  );
  return router;
}
