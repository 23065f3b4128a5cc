import * as z from 'zod';
import { idSchema, timeSchema } from './members.ts';

/** `GET /v1/health`: nothing that identifies the owner. */
export const healthSchema = z.object({ status: z.literal('ok') });
export type Health = z.infer<typeof healthSchema>;

/** `POST /v1/health`, signed. */
export const signedHealthSchema = z.object({
  status: z.literal('ok'),
  protocol: z.literal('v1'),
  /** Of the webhook's program. */
  version: z.string().max(64),
  webhookId: idSchema,
  /** Those of `CAPABILITIES` that it has; a reader ignores others. */
  capabilities: z.array(z.string().max(64)).max(100),
  time: timeSchema,
  /** The service whose tickets it takes: `service.baseUrl` of its exchange. */
  serviceUrl: z.string().max(2048).optional(),
});
export type SignedHealth = z.infer<typeof signedHealthSchema>;
