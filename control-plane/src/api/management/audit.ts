import { type Id, formatTime, isId, parseTime } from '@svault/shared';
import { OUTCOMES } from '@svault/shared/schemas';
import { z } from 'zod';
import { findEvents } from '../../audit/events-query.ts';
import { createLogVerification } from '../../audit/verify.ts';
import { AUDIT_EVENT_TYPES, type AuditEvent } from '../../core/audit-event.ts';
import type { AuditFilter } from '../../core/audit-store.ts';
import { invalidArgument } from '../../core/errors.ts';
import { CHANNELS } from '../../core/origin.ts';
import { TICKET_OUTCOMES } from '../../webhook/ticket-outcomes.ts';
import type { Needs } from './dependencies.ts';
import {
  idSchema,
  isTime,
  pageQuery,
  pageRequest,
  pageSchema,
  serviceNameSchema,
  timeSchema,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const timeQuery = timeSchema.refine(isTime, 'must be a time like 2026-11-20T12:00:00Z').optional();

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

const originSchema = z
  .object({
    requestId: z.string().optional().meta({ description: 'In the response to the request and in the logs' }),
    channel: z.enum(CHANNELS).optional(),
    address: z.string().optional(),
    authenticatedBy: z
      .string()
      .optional()
      .meta({ description: 'Id of the admin key or session, or first characters of the key' }),
    userAgent: z.string().optional().meta({ description: 'What the client called itself, cut' }),
  })
  .meta({ id: 'AuditOrigin', description: 'The request that caused the event; absent where none did' });

const deliverySchema = z
  .object({
    status: z.enum(TICKET_OUTCOMES),
    code: z.string().optional().meta({ description: 'Why the webhook refused' }),
    at: timeSchema.optional(),
  })
  .meta({ id: 'AuditDelivery', description: 'What became of the ticket, by the log of the webhook' });

const auditEventSchema = z
  .object({
    seq: z.int().meta({ description: 'Grows by one in each account' }),
    id: z.string(),
    eventType: z.enum(AUDIT_EVENT_TYPES),
    timestamp: timeSchema,
    outcome: z.enum(OUTCOMES),
    agentId: z.string().optional(),
    proxyId: z.string().optional(),
    userId: z.string().optional(),
    agentName: z
      .string()
      .optional()
      .meta({ description: 'The name of the agent now, also of a deleted one' }),
    proxyName: z.string().optional().meta({ description: 'The name of the proxy now' }),
    userEmail: z.string().optional().meta({ description: 'The address of the user now' }),
    adminKeyName: z
      .string()
      .optional()
      .meta({ description: 'The name of the admin key that authenticated the request' }),
    serviceName: z.string().optional(),
    count: z.int().optional().meta({ description: 'How many equal events this one stands for' }),
    detail: z.record(z.string(), z.union([z.string(), z.int(), z.boolean(), z.array(z.string())])).optional(),
    origin: originSchema.optional(),
    delivery: deliverySchema.optional(),
    hash: z.string().meta({ description: 'SHA-256 over the event and all before it' }),
  })
  .meta({ id: 'AuditEvent' });

export const auditPageSchema = pageSchema(auditEventSchema);

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

export function toAuditView({
  vaultId: _own,
  detail,
  ...event
}: AuditEvent): z.output<typeof auditEventSchema> {
  const members = Object.entries(detail ?? {}).map(([name, value]) => [
    name,
    typeof value === 'object' ? [...value] : value,
  ]);
  return { ...event, ...(detail && { detail: Object.fromEntries(members) as Record<string, string> }) };
}

/** What an event refers to by id, by the member that has its name. */
const referredIn = ({ agentId, proxyId, userId, origin }: AuditEvent) =>
  ({
    agentName: agentId,
    proxyName: proxyId,
    userEmail: userId,
    adminKeyName: isId('adk', origin?.authenticatedBy) ? origin?.authenticatedBy : undefined,
  }) as const;

function namesIn(names: ReadonlyMap<string, string>, event: AuditEvent): Readonly<Record<string, string>> {
  const found = Object.entries(referredIn(event)).flatMap(([member, id]) => {
    const name = id === undefined ? undefined : names.get(id);
    return name === undefined ? [] : [[member, name] as const];
  });
  return Object.fromEntries(found);
}

/** The account's log, newest first, and the proof that it was not changed. */
export function createAuditRoutes({
  ticketOutcomes,
  stores: { names: nameStore, audit: log },
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
        const ids = items.flatMap((event) => Object.values(referredIn(event)).flatMap((id) => id ?? []));
        const names = await nameStore.of(vaultId, ids);
        const outcomes = query.delivery === 'true' ? await ticketOutcomes.of(vaultId, items) : undefined;
        const view = (event: AuditEvent) => {
          const delivery = outcomes?.get(event.id);
          return { ...toAuditView(event), ...namesIn(names, event), ...(delivery && { delivery }) };
        };
        return { items: items.map(view), ...rest };
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
