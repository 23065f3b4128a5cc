import { Router } from 'express';
import { only, route } from '@svault/server-kit/request-handler';
import { respondJson } from '@svault/server-kit/respond';
import { type Clock, formatTime } from '@svault/shared';
import type { SignedHealth } from '@svault/shared/schemas';
import type { BindingReader } from '../binding/binding.ts';
import { CLAIMED_CAPABILITIES, PROGRAM_VERSION } from '../config/program.ts';
import type { RequestReceiver } from '../http/authenticate-request.ts';
import { MAX_BODY_BYTES } from '../http/body-caps.ts';
import { refusal } from '../errors.ts';
import { parseJsonBody } from '../http/json-body.ts';

/** `GET /v1/health`, open and mute; `POST /v1/health`, signed (protocol section 5.2). */
export function createHealthRoute(deps: {
  readonly receiveRequest: RequestReceiver;
  readonly binding: BindingReader;
  readonly clock: Clock;
}): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all('/v1/health', only(['GET', 'POST']));
  router.get('/v1/health', (_req, res) => respondJson(res, { status: 'ok' }));
  router.post(
    '/v1/health',
    route(async (req, res) => {
      const { body: raw } = await deps.receiveRequest(req, { maxBytes: MAX_BODY_BYTES['/v1/health'] });
      if (raw.length > 0) parseJsonBody(req, raw);
      respondJson(res, health());
    }),
  );
  return router;

  function health(): SignedHealth {
    const binding = deps.binding();
    if (binding === undefined) throw refusal('UNAVAILABLE', 'the binding was just erased');
    return {
      status: 'ok',
      protocol: 'v1',
      version: PROGRAM_VERSION,
      webhookId: binding.webhookId,
      capabilities: [...CLAIMED_CAPABILITIES],
      time: formatTime(deps.clock.now()),
    };
  }
}
