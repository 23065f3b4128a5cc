import { type Id, formatTime, parseTime } from '@svault/shared';
import { OUTCOMES } from '@svault/shared/schemas';
import * as z from 'zod';
import { AUDIT_EVENT_TYPES } from '../../core/audit-event.ts';
import type { AuditFilter } from '../../core/audit-store.ts';
import { CHANNELS } from '../../core/origin.ts';
import { idSchema, serviceNameSchema, timeInputSchema } from './fields.ts';

const timeQuery = timeInputSchema.optional();

/** The number of an event, or 0 for what is before the first. */
export const SEQ = /^(?:0|[1-9][0-9]{0,14})$/;

export const seqQuery = (description: string) =>
  z
    .string()
    .regex(SEQ, 'must be the number (seq) of an event, or 0')
    .optional()
    .meta({ description, override: { type: 'integer', minimum: 0 } });

/** An id or name that nothing has matches no event. */
export const auditFilterQuery = {
  agentId: idSchema('agt').optional(),
  serviceName: serviceNameSchema.optional(),
  proxyId: idSchema('prx').optional(),
  userId: idSchema('usr').optional(),
  eventType: z.enum(AUDIT_EVENT_TYPES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  channel: z.enum(CHANNELS).optional(),
  address: z.string().max(64).optional().meta({ description: 'As the events have it, without a range' }),
  requestId: idSchema('req').optional(),
  from: timeQuery.meta({ description: 'Inclusive' }),
  to: timeQuery.meta({ description: 'Exclusive' }),
} as const;

/** Times in the form in which events have theirs, so that text compares as time. */
export function toAuditFilter(query: z.output<z.ZodObject<typeof auditFilterQuery>>): AuditFilter {
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

function written(time: string | undefined): string | undefined {
  const ms = time === undefined ? undefined : parseTime(time);
  return ms === undefined ? undefined : formatTime(ms);
}
