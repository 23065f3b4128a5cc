import { z } from 'zod';
import { findEvents } from '../../audit/events-query.ts';
import { createLogVerification } from '../../audit/verify.ts';
import { invalidArgument } from '../../core/errors.ts';
import { auditFilterQuery, toAuditFilter } from './audit-filter.ts';
import { auditPageSchema, viewsOf } from './audit-view.ts';
import type { Needs } from './dependencies.ts';
import { pageQuery, pageRequest } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const auditQuery = z.strictObject({
  ...pageQuery,
  ...auditFilterQuery,
  delivery: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'true: asks the webhook what became of the tickets of this page' }),
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
