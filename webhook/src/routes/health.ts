import { Router } from 'express';
import { readBody } from '@svault/server-kit/raw-body';
import { only, route } from '@svault/server-kit/request-handler';
import { type Clock, formatTime } from '@svault/shared';
import type { SignedHealth } from '@svault/shared/schemas';
import type { BindingReader } from '../binding/binding.ts';
import { CLAIMED_CAPABILITIES, PROGRAM_VERSION } from '../config/program.ts';
import { sendJson } from '../http/answer.ts';
import type { RequestAuthenticator } from '../http/authenticate-request.ts';
import { refusal } from '../http/errors.ts';
import { MAX_BODY_BYTES, parseJsonBody } from '../http/json-body.ts';

/** `GET /v1/health`, open and mute; `POST /v1/health`, signed (protocol section 5.2). */
export function createHealthRoute(deps: {
  readonly authenticateRequest: RequestAuthenticator;
  readonly binding: BindingReader;
  readonly clock: Clock;
}): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all('/v1/health', only(['GET', 'POST']));
  router.get('/v1/health', (_req, res) => sendJson(res, { status: 'ok' }));
  router.post(
    '/v1/health',
    route(async (req, res) => {
      const raw = await readBody(req, { maxBytes: MAX_BODY_BYTES });
      await deps.authenticateRequest(req, raw);
      if (raw.length > 0) parseJsonBody(req, raw);
      sendJson(res, health());
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
