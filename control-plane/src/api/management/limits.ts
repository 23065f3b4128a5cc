import type { Id } from '@svault/shared';
import * as z from 'zod';
import { readLimits } from '../../management/limits.ts';
import { namedLockouts } from '../../management/overview.ts';
import type { Needs } from './dependencies.ts';
import { idSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const lockoutSchema = z
  .object({
    callerId: z.string().meta({ description: 'The agent or proxy' }),
    name: z.string().nullable(),
    strikes: z.int().meta({ description: 'That count now; one decays with each hour without a violation' }),
    retryAfter: z.int().meta({ description: 'Seconds' }),
  })
  .meta({ id: 'Lockout' });

const limitsSchema = z
  .object({
    counters: z.array(
      z.object({
        scope: z.string().meta({
          examples: ['user_aggregate'],
          description: 'The limit, as its setting SV_LIMIT_… and a denial name it',
        }),
        limit: z.int(),
        windowSeconds: z.int().meta({ description: 'The window begins with the first use' }),
        used: z.int(),
        resetsInSeconds: z.int().meta({ description: '0 where no window is running' }),
      }),
    ),
    quotas: z.array(
      z.object({
        scope: z.string().meta({ examples: ['max_agents'] }),
        limit: z.int(),
        used: z.int().meta({ description: 'Counting stops at the limit' }),
      }),
    ),
  })
  .meta({ id: 'Limits' });

/** What an account uses of its limits, and who is locked out. */
export function createLimitRoutes(
  dependencies: Needs<'clock' | 'limiter' | 'limitsInForce', 'agents' | 'overview' | 'proxies' | 'quotas'>,
): ManagementRoute[] {
  const { clock, limiter, limitsInForce: limits, stores } = dependencies;
  const shared = { tag: 'Overview', role: 'member' } as const;
  return [
    defineRoute('GET /api/limits', {
      ...shared,
      operation: 'getLimits',
      summary:
        'Read how much of its limits the account uses now; with `callerId`, those of an agent or a proxy too',
      query: z.strictObject({ callerId: z.union([idSchema('agt'), idSchema('prx')]).optional() }),
      response: { status: 200, schema: limitsSchema },
      handle: async ({ actor: { vaultId }, query: { callerId } }) => {
        const caller = callerId as Id<'agt'> | Id<'prx'> | undefined;
        const { counters, quotas } = await readLimits({ clock, limiter, limits, stores }, vaultId, caller);
        return { counters: [...counters], quotas: [...quotas] };
      },
    }),
    defineRoute('GET /api/limits/lockouts', {
      ...shared,
      operation: 'listLockouts',
      summary: 'List who is in the penalty box now, the longest lockouts first, at most 100',
      response: { status: 200, schema: z.object({ items: z.array(lockoutSchema) }) },
      handle: async ({ actor: { vaultId } }) => ({
        items: (await namedLockouts(dependencies, vaultId)).map(
          ({ name = null, retryAfterSeconds: retryAfter, ...lockout }) => ({ ...lockout, name, retryAfter }),
        ),
      }),
    }),
  ];
}
