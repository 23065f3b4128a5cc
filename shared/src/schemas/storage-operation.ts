import { z } from 'zod';
import { auditEventSchema } from './audit-event.ts';
import { cursorSchema, idSchema, ifVersionSchema, serviceNameSchema, timeSchema } from './members.ts';
import { proxyConfigMembers } from './proxy-config.ts';
import { STORAGE_LIMITS } from './vocabulary.ts';

const page = (max: number) => ({
  cursor: cursorSchema.optional(),
  limit: z.int().min(1).max(max).optional(),
});

const listPage = page(STORAGE_LIMITS.listPage);

/** PROTOCOL.md section 5.3: one operation of `POST /v1/storage`. */
export const storageOperationSchema = z.discriminatedUnion('op', [
  z.object({ op: z.literal('tokens.list'), ...listPage, expiresBefore: timeSchema.optional() }),
  z.object({ op: z.literal('tokens.get'), serviceName: serviceNameSchema }),
  z.object({
    op: z.literal('tokens.delete'),
    serviceName: serviceNameSchema,
    ifVersion: ifVersionSchema.optional(),
  }),
  z.object({ op: z.literal('proxies.put'), ...proxyConfigMembers, ifVersion: ifVersionSchema.optional() }),
  z.object({ op: z.literal('proxies.get'), proxyId: idSchema }),
  z.object({ op: z.literal('proxies.list'), ...listPage }),
  z.object({ op: z.literal('proxies.delete'), proxyId: idSchema, ifVersion: ifVersionSchema.optional() }),
  z.object({
    op: z.literal('audit.append'),
    events: z.array(auditEventSchema).max(STORAGE_LIMITS.auditEvents),
  }),
  z.object({
    op: z.literal('audit.list'),
    ...page(STORAGE_LIMITS.auditPage),
    agentId: idSchema.optional(),
    serviceName: serviceNameSchema.optional(),
  }),
]);
export type StorageOperation = z.infer<typeof storageOperationSchema>;
export type StorageOperationName = StorageOperation['op'];

/**
 * PROTOCOL.md section 5.3: several operations, run in order, each on its own. What is in the list is read one by one, by
 * {@link storageOperationSchema}, since a wrong one is refused in its place and stops no other.
 */
export const storageBatchSchema = z.object({ batch: z.array(z.unknown()).min(1).max(STORAGE_LIMITS.batch) });
export type StorageBatch = z.infer<typeof storageBatchSchema>;
