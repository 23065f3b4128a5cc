import type { Id } from '@svault/shared';
import * as z from 'zod';
import { findEvents } from '../../audit/events-query.ts';
import { createLogVerification } from '../../audit/verify.ts';
import type { AuditEvent } from '../../core/audit-event.ts';
import { ApiError, invalidArgument, orNotFound } from '../../core/errors.ts';
import { auditFilterQuery, toAuditFilter } from './audit-filter.ts';
import { type AuditEventView, auditEventSchema, auditPageSchema, viewsOf } from './audit-view.ts';
import type { Needs } from './dependencies.ts';
import { pageQuery, pageRequest, timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const deliveryQuery = {
  delivery: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'true: asks the webhook what became of the tickets' }),
};

const auditQuery = z.strictObject({ ...pageQuery, ...auditFilterQuery, ...deliveryQuery });

const SEQ = /^[1-9][0-9]{0,14}$/;

const seqParams = z.object({
  seq: z
    .string()
    .regex(SEQ, 'must be the number (seq) of an event')
    .meta({ override: { type: 'integer', minimum: 1 } }),
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

const checkpointSchema = z
  .object({
    checkpoint: z.string().meta({ description: 'Signed note of control plane and webhook' }),
    size: z.int().meta({ description: 'Number of the newest event that it covers' }),
    at: timeSchema.meta({ description: 'When the webhook cosigned it' }),
    keys: z.array(z.string()).meta({
      description: 'Verifier keys of the control plane and of the webhook, as the control plane knows it',
    }),
  })
  .meta({ id: 'AuditCheckpoint' });

const noCheckpoint = (): ApiError =>
  new ApiError(
    'NOT_FOUND',
    'There is no checkpoint of the audit log yet. A webhook with the capability audit-checkpoints cosigns one within a minute of the first events: svault webhook status says whether it answers.',
  );

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
  if (!SEQ.test(seq)) throw invalidArgument([{ path: 'cursor', message: 'is no cursor of this list' }]);
  return { limit, before: Number(seq) };
}

/** The account's log, newest first, and the proof that it was not changed. */
export function createAuditRoutes({
  ticketOutcomes,
  checkpointKeyOf,
  stores: { names, audit: log, auditCheckpoints, webhookLinks },
}: Needs<
  'checkpointKeyOf' | 'ticketOutcomes',
  'audit' | 'auditCheckpoints' | 'names' | 'webhookLinks'
>): ManagementRoute[] {
  const verify = createLogVerification(log);
  const shared = { tag: 'Audit', role: 'member' } as const;
  const shown = async (
    vaultId: Id<'vlt'>,
    events: readonly AuditEvent[],
    { delivery }: { readonly delivery?: 'true' | 'false' | undefined },
  ): Promise<AuditEventView[]> => {
    const views = await viewsOf(names, vaultId, events);
    if (delivery !== 'true') return views;
    const outcomes = await ticketOutcomes.of(vaultId, events);
    return views.map((view) => {
      const found = outcomes.get(view.id);
      return { ...view, ...(found && { delivery: found }) };
    });
  };
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
        return { items: await shown(vaultId, items, query), ...rest };
      },
    }),
    defineRoute('GET /api/audit/verify', {
      ...shared,
      operation: 'verifyAuditLog',
      summary: 'Follow the chain of hashes and say where it breaks',
      response: { status: 200, schema: logVerdictSchema },
      handle: ({ actor }) => verify(actor.vaultId),
    }),
    defineRoute('GET /api/audit/checkpoint', {
      ...shared,
      operation: 'getAuditCheckpoint',
      summary: 'Read the last checkpoint of the log that the webhook cosigned',
      errors: ['NOT_FOUND'],
      response: { status: 200, schema: checkpointSchema },
      handle: async ({ actor: { vaultId } }) => {
        const link = await webhookLinks.find(vaultId);
        const found = link && (await auditCheckpoints.find(vaultId, link.webhookId));
        const { note: checkpoint, size = 0, signedAt: at, webhookKey } = found ?? {};
        if (checkpoint === undefined || at === undefined || webhookKey === undefined) throw noCheckpoint();
        return { checkpoint, size, at, keys: [checkpointKeyOf(vaultId).vkey, webhookKey] };
      },
    }),
    // Behind the routes whose paths this one would fit.
    defineRoute('GET /api/audit/{seq}', {
      ...shared,
      operation: 'getAuditEvent',
      summary: 'Read one event by its number, the permanent address of the event in its account',
      params: seqParams,
      query: z.strictObject(deliveryQuery),
      response: { status: 200, schema: auditEventSchema },
      handle: async ({ actor: { vaultId }, params, query }) => {
        const seq = Number(params.seq);
        const [event] = await log.after(vaultId, seq - 1, 1);
        const [view] = event?.seq === seq ? await shown(vaultId, [event], query) : [];
        return orNotFound(view);
      },
    }),
  ];
}
