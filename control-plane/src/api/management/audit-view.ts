import { type Id, isId } from '@svault/shared';
import { OUTCOMES } from '@svault/shared/schemas';
import * as z from 'zod';
import { AUDIT_EVENT_TYPES, type AuditEvent } from '../../core/audit-event.ts';
import type { LinkedEvent } from '../../audit/linked-events.ts';
import type { NameStore } from '../../core/name.ts';
import { CHANNELS } from '../../core/origin.ts';
import { TICKET_OUTCOMES } from '../../webhook/ticket-outcomes.ts';
import { pageSchema, timeSchema } from './fields.ts';

/** Documented as these values, and shown as it was stored: after going back to a former version the log has what a later one added. */
const growingEnum = <Value extends string>(values: readonly Value[]): z.ZodType<Value, Value> =>
  z.string().meta({ enum: [...values] }) as unknown as z.ZodType<Value, Value>;

const originSchema = z
  .object({
    requestId: z.string().optional().meta({ description: 'In the response to the request and in the logs' }),
    channel: growingEnum(CHANNELS).optional(),
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

/** An event as every operation shows it. */
export const auditEventSchema = z
  .object({
    seq: z.int().meta({ description: 'Grows by one in each account' }),
    id: z.string(),
    eventType: growingEnum(AUDIT_EVENT_TYPES),
    timestamp: timeSchema,
    outcome: growingEnum(OUTCOMES),
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

/** An event with all that its hash is verified by. */
export const exportedEventSchema = auditEventSchema
  .extend({
    vaultId: z.string().meta({ description: 'The account, which the hash covers' }),
    previousHash: z
      .string()
      .optional()
      .meta({ description: 'The hash of the event before; absent where it is not the one given before' }),
  })
  .meta({ id: 'ExportedAuditEvent' });

export type ExportedEventView = z.output<typeof exportedEventSchema>;

export type AuditEventView = z.output<typeof auditEventSchema>;

/** An event without the names of what it refers to. */
export function toAuditView({ vaultId: _own, detail, ...event }: AuditEvent): AuditEventView {
  const members = Object.entries(detail ?? {}).map(([name, value]) => [
    name,
    typeof value === 'object' ? [...value] : value,
  ]);
  return { ...event, ...(detail && { detail: Object.fromEntries(members) as Record<string, string> }) };
}

/** What an event refers to by id, by the member that has its name. */
function referredIn({
  agentId,
  proxyId,
  userId,
  origin,
}: AuditEvent): readonly (readonly [string, string])[] {
  const authenticatedBy = origin?.authenticatedBy;
  const ids = {
    agentName: agentId,
    proxyName: proxyId,
    userEmail: userId,
    adminKeyName: isId('adk', authenticatedBy) ? authenticatedBy : undefined,
  };
  return Object.entries(ids).flatMap(([member, id]) => (id === undefined ? [] : [[member, id] as const]));
}

/** Events with the names that agents, proxies, users and admin keys have now; their names are read at once. */
export async function viewsOf(
  nameStore: NameStore,
  vaultId: Id<'vlt'>,
  events: readonly AuditEvent[],
): Promise<AuditEventView[]> {
  const referred = events.map((event) => ({ event, ids: referredIn(event) }));
  const names = await nameStore.of(
    vaultId,
    referred.flatMap(({ ids }) => ids.map(([, id]) => id)),
  );
  return referred.map(({ event, ids }) => ({
    ...toAuditView(event),
    ...Object.fromEntries(
      ids.flatMap(([member, id]) => {
        const name = names.get(id);
        return name === undefined ? [] : [[member, name] as const];
      }),
    ),
  }));
}

/** The same, with all that their hashes are verified by. */
export async function exportedViewsOf(
  nameStore: NameStore,
  vaultId: Id<'vlt'>,
  events: readonly LinkedEvent[],
): Promise<ExportedEventView[]> {
  const views = await viewsOf(nameStore, vaultId, events);
  return views.map((view) => exportedEventSchema.parse({ ...view, vaultId }));
}
