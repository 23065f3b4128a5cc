import { z } from 'zod';
import type {} from 'zod-openapi';
import type { Stores } from '../../core/stores.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { type NamedLockout, namedLockouts } from '../../management/overview.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const lockoutSchema = z
  .object({
    callerId: z.string().meta({ description: 'The agent or proxy' }),
    name: z.string().nullable(),
    strikes: z.int().meta({ description: 'That count now; one decays with each hour without a violation' }),
    retryAfter: z.int().meta({ description: 'Seconds' }),
  })
  .meta({ id: 'Lockout' });

const lockoutsSchema = z.object({ items: z.array(lockoutSchema) });

const toLockoutView = ({
  callerId,
  name,
  strikes,
  retryAfterSeconds,
}: NamedLockout): z.infer<typeof lockoutSchema> => ({
  callerId,
  name: name ?? null,
  strikes,
  retryAfter: retryAfterSeconds,
});

export function createLimitRoutes(dependencies: {
  readonly limiter: Pick<Limiter, 'lockouts'>;
  readonly stores: Pick<Stores, 'agents' | 'proxies'>;
}): readonly ManagementRoute[] {
  return [
    defineRoute({
      tag: 'Overview',
      role: 'member',
      method: 'get',
      path: '/api/limits/lockouts',
      operation: 'listLockouts',
      summary: 'List who is in the penalty box now, the longest lockouts first, at most 100',
      whenLocked: 'allowed',
      audit: [],
      response: { status: 200, schema: lockoutsSchema },
      handle: async ({ actor }) => ({
        items: (await namedLockouts(dependencies, actor.vaultId)).map(toLockoutView),
      }),
    }),
  ];
}
