import { Router } from 'express';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';
import type { Stores } from '../unit-of-work.ts';

/**
 * `/healthz`: the process is up. `/readyz`: it can do its job, which is to say that the database answers; a
 * status without details.
 */
export function createHealthRoutes({ stores }: { readonly stores: Pick<Stores, 'users'> }): Router {
  const allow = methodNotAllowed(['GET', 'HEAD']);
  return Router()
    .get('/healthz', (_req, res) => void res.json({ status: 'ok' }))
    .all('/healthz', allow)
    .get(
      '/readyz',
      route(async (_req, res) => {
        await stores.users.owners();
        res.json({ status: 'ok' });
      }),
    )
    .all('/readyz', allow);
}
