import { Router } from 'express';
import { requestIdOf } from '@svault/server-kit/request-id';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';

/**
 * `/healthz`: the process is up. `/readyz`: the database answers, its disk takes writes, and the process is not about to
 * stop; otherwise 503 and the reason. `degraded` is still ready, and 200: agents are served.
 */
export function createHealthRoutes({
  database,
  redisIsDown,
  isLeaving,
}: {
  /** `answers` rejects where it does not. */
  readonly database: { answers(): Promise<void> };
  /** Limits are kept, though not in Redis, which keeps them otherwise. */
  readonly redisIsDown: () => boolean;
  /** The program is about to stop: a load balancer sends it no more requests. */
  readonly isLeaving: () => boolean;
}): Router {
  const allow = methodNotAllowed(['GET', 'HEAD']);
  return Router()
    .get('/healthz', (_req, res) => void res.json({ status: 'ok' }))
    .all('/healthz', allow)
    .get(
      '/readyz',
      route(async (req, res) => {
        if (isLeaving())
          return void res.status(503).json({
            error: 'this process is about to stop',
            code: 'UNAVAILABLE',
            requestId: requestIdOf(req),
          });
        await database.answers();
        res.json({ status: redisIsDown() ? 'degraded' : 'ok' });
      }),
    )
    .all('/readyz', allow);
}
