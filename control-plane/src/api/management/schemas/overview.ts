import { z } from 'zod';
import { COUNTED_UP_TO, type Overview } from '../../../management/read-overview.ts';
import { timeSchema } from './fields.ts';

export const overviewSchema = z
  .object({
    vault: z.object({ locked: z.boolean(), lockedAt: timeSchema.nullable() }),
    agents: z.object({ active: z.int(), suspended: z.int() }),
    tokens: z.int(),
    folders: z.int(),
    grants: z.object({
      live: z.int(),
      endingSoon: z.int().meta({ description: 'Of the live ones: within 24 hours' }),
    }),
    policies: z.int(),
    proxies: z.int().meta({ description: 'Active ones' }),
    countedUpTo: z.int().meta({ description: 'A number of this size stands for itself or more' }),
    activity: z
      .object({
        since: timeSchema.meta({
          description: '24 hours ago, or later in a log that is longer than is looked through',
        }),
        accesses: z.int(),
        denied: z.int(),
        rateLimited: z.int(),
        errors: z.int(),
      })
      .meta({ description: 'Requests for credentials' }),
    webhook: z.object({
      bound: z.boolean(),
      online: z.boolean().optional().meta({ description: 'false while it is known not to answer' }),
      lastSeenAt: timeSchema.nullable().optional(),
      logBehindSince: timeSchema.nullable().optional().meta({
        description: 'Since when an event waits that it has not acknowledged; null where none waits long',
      }),
    }),
    lockouts: z.int().meta({ description: 'Agents and proxies in the penalty box' }),
  })
  .meta({ id: 'Overview' });

export function toOverviewView({
  vault: { lockedAt },
  counts,
  activity,
  webhook,
  lockouts,
}: Overview): z.output<typeof overviewSchema> {
  return {
    vault: { locked: lockedAt !== undefined, lockedAt: lockedAt ?? null },
    agents: { active: counts.agentsActive, suspended: counts.agentsSuspended },
    tokens: counts.tokens,
    folders: counts.folders,
    grants: { live: counts.grantsLive, endingSoon: counts.grantsEndingSoon },
    policies: counts.policies,
    proxies: counts.proxiesActive,
    countedUpTo: COUNTED_UP_TO,
    activity,
    webhook:
      webhook === undefined
        ? { bound: false }
        : {
            bound: true,
            online: webhook.online,
            lastSeenAt: webhook.lastSeenAt ?? null,
            logBehindSince: webhook.logBehindSince ?? null,
          },
    lockouts,
  };
}
