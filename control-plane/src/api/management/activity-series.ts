import { type Id, parseTime } from '@svault/shared';
import * as z from 'zod';
import { BOUNDS, BUCKETS, readActivitySeries } from '../../management/activity-series.ts';
import type { Needs } from './dependencies.ts';
import { idSchema, timeInputSchema, timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const timeQuery = timeInputSchema.optional();
const bucketSchema = z.enum(['minute', 'hour', 'day']);

/** An agent that there is none of has no requests. */
const seriesQuery = z.strictObject({
  bucket: bucketSchema.optional().meta({ description: `hour unless given; ${BOUNDS}` }),
  from: timeQuery.meta({
    description: `Inclusive; ${BUCKETS.minute.usual} minutes, ${BUCKETS.hour.usual} hours or ${BUCKETS.day.usual} days before the end unless given`,
  }),
  to: timeQuery.meta({ description: 'Exclusive; now unless given' }),
  agentId: idSchema('agt').optional(),
});

const seriesSchema = z
  .object({
    bucket: bucketSchema,
    from: timeSchema.meta({ description: 'The start of the first bucket' }),
    to: timeSchema.meta({ description: 'The end of the last bucket' }),
    since: timeSchema.meta({
      description:
        'Counts of earlier times may have been removed: minutes stay two days, the rest as long as the log and 400 days at most',
    }),
    complete: z.boolean().meta({
      description:
        'false while the newest of many events are not counted yet: the numbers grow by themselves',
    }),
    buckets: z.array(
      z
        .object({
          start: timeSchema,
          accesses: z.int(),
          denied: z.int(),
          rateLimited: z.int(),
          errors: z.int(),
        })
        .meta({ id: 'ActivityBucket', description: 'Requests for credentials by outcome' }),
    ),
  })
  .meta({ id: 'ActivitySeries', description: 'Without gaps, oldest first; buckets are aligned in UTC' });

/** What is drawn on the first page of a console. */
export function createActivitySeriesRoutes(
  dependencies: Needs<'auditRetentionDays' | 'clock', 'activity' | 'audit'>,
): ManagementRoute[] {
  return [
    defineRoute('GET /api/overview/series', {
      tag: 'Overview',
      role: 'member',
      operation: 'getActivitySeries',
      summary: 'Count requests for credentials by outcome over time, of the account or of one agent',
      query: seriesQuery,
      response: { status: 200, schema: seriesSchema },
      handle: async ({ actor: { vaultId }, query: { bucket = 'hour', agentId, from, to } }) => {
        const { buckets, ...series } = await readActivitySeries(dependencies, vaultId, {
          bucket,
          agentId: agentId as Id<'agt'> | undefined,
          fromMs: from === undefined ? undefined : parseTime(from),
          toMs: to === undefined ? undefined : parseTime(to),
        });
        return { ...series, buckets: [...buckets] };
      },
    }),
  ];
}
