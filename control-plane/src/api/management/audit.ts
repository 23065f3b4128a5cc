import { type Id, formatTime, parseTime } from '@svault/shared';
import { OUTCOMES } from '@svault/shared/schemas';
import { z } from 'zod';
import { findEvents } from '../../audit/events-query.ts';
import { createLogVerification } from '../../audit/verify.ts';
import { AUDIT_EVENT_TYPES } from '../../core/audit-event.ts';
import type { AuditFilter } from '../../core/audit-store.ts';
import { invalidArgument } from '../../core/errors.ts';
import { CHANNELS } from '../../core/origin.ts';
import { auditPageSchema, viewsOf } from './audit-view.ts';
import type { Needs } from './dependencies.ts';
import { idSchema, pageQuery, pageRequest, serviceNameSchema, timeInputSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const timeQuery = timeInputSchema.optional();

/** An id or name that nothing has matches no event. */
const auditQuery = z.strictObject({
  ...pageQuery,
  agentId: idSchema('agt').optional(),
  serviceName: serviceNameSchema.optional(),
  proxyId: idSchema('prx').optional(),
  userId: idSchema('usr').optional(),
  eventType: z.enum(AUDIT_EVENT_TYPES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  channel: z.enum(CHANNELS).optional(),
  address: z.string().max(64).optional().meta({ description: 'As the events have it, without a range' }),
  requestId: idSchema('req').optional(),
  delivery: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'true: asks the webhook what became of the tickets of this page' }),
  from: timeQuery.meta({ description: 'Inclusive' }),
  to: timeQuery.meta({ description: 'Exclusive' }),
});

const logVerdictSchema = z
  .object({
    intact: z.boolean(),
    events: z.int().optional(),
    head: z.object({ seq: z.int(), hash: z.string() }).optional(),
    seq: z.int().optional().meta({ description: 'Where the chain breaks' }),
    problem: z.enum(['missing', 'changed', 'cut', 'added']).optional(),
  })
  .meta({ id: 'AuditVerdict' });

/** Times in the form in which events have theirs, so that text compares as time. */
function toAuditFilter(query: z.output<typeof auditQuery>): AuditFilter {
  const { agentId, proxyId, userId, from, to, serviceName, eventType, outcome, channel, address, requestId } =
    query;
  return {
    ...{ serviceName, eventType, outcome, channel, address, requestId },
    agentId: agentId as Id<'agt'> | undefined,
    proxyId: proxyId as Id<'prx'> | undefined,
    userId: userId as Id<'usr'> | undefined,
    from: written(from),
    to: written(to),
  };
}

/**
 * The page of the log that a query asks for.
 *
 * @throws ApiError INVALID_ARGUMENT for a cursor that no page of the log gave
 */
export function logPageRequest(query: Parameters<typeof pageRequest>[0]): {
  readonly limit: number;
  readonly before: number | undefined;
} {
  const { limit, after } = pageRequest(query, 1);
  if (after === undefined) return { limit, before: undefined };
  const [seq = ''] = after;
  if (!/^[1-9][0-9]{0,14}$/.test(seq))
    throw invalidArgument([{ path: 'cursor', message: 'is no cursor of this list' }]);
  return { limit, before: Number(seq) };
}

function written(time: string | undefined): string | undefined {
  const ms = time === undefined ? undefined : parseTime(time);
  return ms === undefined ? undefined : formatTime(ms);
}

/** The account's log, newest first, and the proof that it was not changed. */
export function createAuditRoutes({
  ticketOutcomes,
  stores: { names, audit: log },
}: Needs<'ticketOutcomes', 'audit' | 'names'>): ManagementRoute[] {
  const verify = createLogVerification(log);
  const shared = { tag: 'Audit', role: 'member' } as const;
  return [
    defineRoute('GET /api/audit', {
      ...shared,
      operation: 'listAuditEvents',
      summary:
        'List what happened, newest first; a page may hold less than asked for and still have a cursor',
      query: auditQuery,
      response: { status: 200, schema: auditPageSchema },
      handle: async ({ actor: { vaultId }, query }) => {
        const { items, ...rest } = await findEvents(
          log,
          vaultId,
          toAuditFilter(query),
          logPageRequest(query),
        );
        const views = await viewsOf(names, vaultId, items);
        const outcomes = query.delivery === 'true' ? await ticketOutcomes.of(vaultId, items) : undefined;
        const withDelivery = views.map((view) => {
          const delivery = outcomes?.get(view.id);
          return { ...view, ...(delivery && { delivery }) };
        });
        return { items: withDelivery, ...rest };
      },
    }),
    defineRoute('GET /api/audit/verify', {
      ...shared,
      operation: 'verifyAuditLog',
      summary: 'Follow the chain of hashes and say where it breaks',
      response: { status: 200, schema: logVerdictSchema },
      handle: ({ actor }) => verify(actor.vaultId),
    }),
  ];
}
