import { Router } from 'express';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';

/**
 * `/healthz`: the process is up. `/readyz`: it can do its job, which is to say that the database answers; a
 * status without details. `degraded` is still ready, and 200: agents are served, and taking the process out of service
 * would help nobody.
 */
export function createHealthRoutes({
  databaseAnswers,
  isDegraded,
}: {
  /** Rejects where it does not. */
  readonly databaseAnswers: () => Promise<void>;
  /** The job is done without something that was to help with it. */
  readonly isDegraded: () => boolean;
}): Router {
  const allow = methodNotAllowed(['GET', 'HEAD']);
  return Router()
    .get('/healthz', (_req, res) => void res.json({ status: 'ok' }))
    .all('/healthz', allow)
    .get(
      '/readyz',
      route(async (_req, res) => {
        await databaseAnswers();
        res.json({ status: isDegraded() ? 'degraded' : 'ok' });
      }),
    )
    .all('/readyz', allow);
}
