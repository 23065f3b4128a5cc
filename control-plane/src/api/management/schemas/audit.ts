import { z } from 'zod';
import { type Id, formatTime, parseTime } from '@svault/shared';
import { OUTCOMES } from '@svault/shared/schemas';
import { AUDIT_EVENT_TYPES, type AuditEvent } from '../../../core/audit-event.ts';
import type { AuditFilter } from '../../../core/audit-store.ts';
import { invalidArgument } from '../../../core/errors.ts';
import { isTime, timeSchema } from './fields.ts';
import { pageQuery, pageRequest, pageSchema } from './pages.ts';

const timeQuery = timeSchema.refine(isTime, 'must be a time like 2026-11-20T12:00:00Z').optional();

/** Any id or name is let through: one that nothing has matches no event. */
export const auditQuery = z.strictObject({
  ...pageQuery,
  agentId: z.string().max(128).optional(),
  serviceName: z.string().max(255).optional(),
  eventType: z.enum(AUDIT_EVENT_TYPES).optional(),
  from: timeQuery.meta({ description: 'Inclusive' }),
  to: timeQuery.meta({ description: 'Exclusive' }),
});

export const auditEventSchema = z
  .object({
    seq: z.int().meta({ description: 'Grows by one in each account' }),
    id: z.string(),
    eventType: z.enum(AUDIT_EVENT_TYPES),
    timestamp: timeSchema,
    outcome: z.enum(OUTCOMES),
    agentId: z.string().optional(),
    proxyId: z.string().optional(),
    userId: z.string().optional(),
    serviceName: z.string().optional(),
    count: z.int().optional().meta({ description: 'How many equal events this one stands for' }),
    detail: z.record(z.string(), z.union([z.string(), z.int(), z.boolean(), z.array(z.string())])).optional(),
    hash: z.string().meta({ description: 'SHA-256 over the event and all before it' }),
  })
  .meta({ id: 'AuditEvent' });

export const auditPageSchema = pageSchema(auditEventSchema);

export const logVerdictSchema = z
  .object({
    intact: z.boolean(),
    events: z.int().optional(),
    head: z.object({ seq: z.int(), hash: z.string() }).optional(),
    seq: z.int().optional().meta({ description: 'Where the chain breaks' }),
    problem: z.enum(['missing', 'changed', 'cut', 'added']).optional(),
  })
  .meta({ id: 'AuditVerdict' });

/** Times in the form in which events have theirs, so that text compares as time. */
export function toAuditFilter(query: z.output<typeof auditQuery>): AuditFilter {
  const { agentId, serviceName, eventType, from, to } = query;
  return {
    agentId: agentId as Id<'agt'> | undefined,
    serviceName,
    eventType,
    from: written(from),
    to: written(to),
  };
}

/**
 * The page of the log that a query asks for.
 *
 * @throws AppError INVALID_ARGUMENT for a cursor that no page of the log gave
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
