import { Router } from 'express';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';

/**
 * `/healthz`: the process is up. `/readyz`: it can do its job, which is to say that the database answers; a
 * status without details.
 */
export function createHealthRoutes({
  databaseAnswers,
}: {
  /** Rejects where it does not. */
  readonly databaseAnswers: () => Promise<void>;
}): Router {
  const allow = methodNotAllowed(['GET', 'HEAD']);
  return Router()
    .get('/healthz', (_req, res) => void res.json({ status: 'ok' }))
    .all('/healthz', allow)
    .get(
      '/readyz',
      route(async (_req, res) => {
        await databaseAnswers();
        res.json({ status: 'ok' });
      }),
    )
    .all('/readyz', allow);
}
