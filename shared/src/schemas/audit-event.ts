import { z } from 'zod';
import { idSchema, serviceNameSchema, timeSchema } from './members.ts';
import { STORAGE_LIMITS } from './vocabulary.ts';

const eventMembers = {
  id: idSchema,
  eventType: z.string().regex(/^[A-Za-z0-9_.:-]{1,64}$/, 'not an event type'),
  timestamp: timeSchema,
  /** One of `OUTCOMES` where this project's service wrote it. */
  outcome: z.string().regex(/^[a-z_]{1,32}$/, 'not an outcome'),
  agentId: idSchema.optional(),
  proxyId: idSchema.optional(),
  userId: idSchema.optional(),
  serviceName: serviceNameSchema.optional(),
  count: z.int().min(1).optional(),
  detail: z.record(z.string(), z.unknown()).optional(),
};

/** PROTOCOL.md section 5.3: an event that the service writes by `audit.append`; at most 8 KiB of JSON. */
export const auditEventSchema = z
  .object(eventMembers)
  .refine((event) => jsonBytes(event) <= STORAGE_LIMITS.auditEventBytes, 'an event has at most 8 KiB');
export type AuditEvent = z.infer<typeof auditEventSchema>;

/** An event as `audit.list` answers it. */
export const auditItemSchema = z.object({
  ...eventMembers,
  /** Grows by one within an epoch. */
  seq: z.int().min(0),
  /** `webhook`: written by itself; `service`: by `audit.append`. */
  source: z.enum(['webhook', 'service']),
});
export type AuditItem = z.infer<typeof auditItemSchema>;

/** Where a webhook's log stands: within an epoch equal `seq` means equal `hash`. */
export const auditHeadSchema = z.object({
  epoch: z.string().max(128),
  seq: z.int().min(0),
  hash: z.string().max(128),
});
export type AuditHead = z.infer<typeof auditHeadSchema>;

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value), 'utf8');
}
