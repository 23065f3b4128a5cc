import { Router } from 'express';
import { only } from '@svault/server-kit/request-handler';
import { respondJson } from '@svault/server-kit/respond';
import { refusal } from '../errors.ts';

/** `GET /healthz`: the process is up. `GET /readyz`: it can do its job, and is not about to stop. Neither says more. */
export function createProbeRoutes(deps: {
  readonly isReady: () => boolean;
  /** The program is to stop: whoever shares requests out is to give it no more. */
  readonly isLeaving: () => boolean;
}): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all('/healthz', only(['GET']), (_req, res) => respondJson(res, { status: 'ok' }));
  router.all('/readyz', only(['GET']), (_req, res) => {
    if (deps.isLeaving())
      return respondJson(res, { error: 'this process is about to stop', code: 'UNAVAILABLE' }, 503);
    if (!deps.isReady()) throw refusal('UNAVAILABLE', 'not ready');
    respondJson(res, { status: 'ok' });
  });
  return router;
}
