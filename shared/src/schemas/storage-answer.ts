import { z } from 'zod';
import { auditHeadSchema, auditItemSchema } from './audit-event.ts';
import { cursorSchema } from './members.ts';
import { proxyConfigSchema } from './proxy-config.ts';
import type { StorageOperationName } from './storage-operation.ts';
import { tokenMetadataSchema } from './token-metadata.ts';

const nextCursor = cursorSchema.optional();
const deletedSchema = z.object({ deleted: z.boolean() });

/** PROTOCOL.md section 5.3: what each operation answers. */
export const storageAnswerSchemas = {
  'tokens.list': z.object({ items: z.array(tokenMetadataSchema), nextCursor }),
  'tokens.get': tokenMetadataSchema,
  'tokens.delete': deletedSchema,
  'proxies.put': proxyConfigSchema,
  'proxies.get': proxyConfigSchema,
  'proxies.list': z.object({ items: z.array(proxyConfigSchema), nextCursor }),
  'proxies.delete': deletedSchema,
  'audit.append': z.object({ accepted: z.int().min(0) }),
  'audit.list': z.object({ items: z.array(auditItemSchema), nextCursor, head: auditHeadSchema }),
} as const satisfies Record<StorageOperationName, z.ZodType>;

export type StorageAnswers = { [Op in StorageOperationName]: z.infer<(typeof storageAnswerSchemas)[Op]> };
export type StorageAnswer<Op extends StorageOperationName> = StorageAnswers[Op];

/** Answer to a batch: results and error bodies, in the order of the operations. */
export const storageBatchAnswerSchema = z.object({ results: z.array(z.unknown()) });
export type StorageBatchAnswer = z.infer<typeof storageBatchAnswerSchema>;
