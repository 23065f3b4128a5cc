import { Router } from 'express';
import { only, route } from '@svault/server-kit/request-handler';
import { respondJson } from '@svault/server-kit/respond';
import { refreshNotifySchema } from '@svault/shared/schemas';
import type { RequestReceiver } from '../http/authenticate-request.ts';
import { MAX_BODY_BYTES } from '../http/body-caps.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { parseBody } from '../http/parse-body.ts';
import type { NotifyRefresh } from '../refresh/notify.ts';

/** `POST /v1/refresh-notify`, signed (protocol section 7). Its hints are read past. */
export function createRefreshNotifyRoute(deps: {
  readonly receiveRequest: RequestReceiver;
  readonly notifyRefresh: NotifyRefresh;
}): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/v1/refresh-notify',
    only(['POST']),
    route(async (req, res) => {
      const { body: raw } = await deps.receiveRequest(req, {
        maxBytes: MAX_BODY_BYTES['/v1/refresh-notify'],
      });
      const { serviceName, reason } = parseBody(refreshNotifySchema, parseJsonBody(req, raw));
      const answer = await deps.notifyRefresh({ serviceName, reason });
      respondJson(res, answer, 'accepted' in answer ? 202 : 200);
    }),
  );
  return router;
}
