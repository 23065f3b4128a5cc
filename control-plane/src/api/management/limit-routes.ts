import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { namedLockouts } from '../../management/named-lockouts.ts';
import type { Stores } from '../../core/stores.ts';
import { lockoutsSchema, toLockoutView } from './schemas/limits.ts';

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
      whenLocked: 'answers',
      audit: [],
      answer: { status: 200, schema: lockoutsSchema },
      handle: async ({ actor }) => ({
        items: (await namedLockouts(dependencies, actor.vaultId)).map(toLockoutView),
      }),
    }),
  ];
}
