import * as z from 'zod';
import { idSchema, secretSchema, serviceNameSchema, timeSchema } from './members.ts';
import { AUTH_METHODS } from './vocabulary.ts';

/** PROTOCOL.md section 7: `POST /v1/refresh-notify`. Hints are for logs only. */
export const refreshNotifySchema = z.object({
  serviceName: serviceNameSchema,
  reason: z.enum(['expiring', 'expired', 'manual']),
  expiresAt: timeSchema.optional(),
  tokenUrl: z.string().max(2048).optional(),
  clientId: z.string().max(2048).optional(),
});
export type RefreshNotify = z.infer<typeof refreshNotifySchema>;

/** 202: the webhook will see to it. */
export const refreshAcceptedSchema = z.object({ accepted: z.literal(true) });
export type RefreshAccepted = z.infer<typeof refreshAcceptedSchema>;

/**
 * Why a provider gave nothing, in one line for the owner, without anything that was sent to it. A text that does not fit is
 * dropped: the outcome counts.
 */
const providerReasonSchema = z
  .string()
  .max(400)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u)
  .optional()
  .catch(undefined);

/** 200: done at once. */
export const refreshDoneSchema = z.object({
  outcome: z.enum(['refreshed', 'not_refreshable', 'failed']),
  expiryTime: timeSchema.optional(),
  providerReason: providerReasonSchema,
});
export type RefreshDone = z.infer<typeof refreshDoneSchema>;

/** PROTOCOL.md section 7: `POST /v1/refresh`, two phases. */
export const refreshRequestSchema = z.discriminatedUnion('phase', [
  z.object({ phase: z.literal('get'), serviceName: serviceNameSchema }),
  z.object({
    phase: z.literal('update'),
    leaseId: idSchema,
    clientSecret: secretSchema.optional(),
    clientAssertion: secretSchema.optional(),
  }),
]);
export type RefreshRequest = z.infer<typeof refreshRequestSchema>;

/** Answer to phase `get`. */
export const refreshLeaseSchema = z.object({
  leaseId: idSchema,
  leaseSeconds: z.int().min(1),
  tokenUrl: z.string(),
  clientId: z.string(),
  authMethod: z.enum(AUTH_METHODS),
  scope: z.string().optional(),
  expiryTime: timeSchema.optional(),
});
export type RefreshLease = z.infer<typeof refreshLeaseSchema>;

/** Answer to phase `update`: metadata only. */
export const refreshOutcomeSchema = z.object({
  outcome: z.enum(['refreshed', 'invalid_grant', 'provider_error']),
  expiryTime: timeSchema.optional(),
  providerReason: providerReasonSchema,
});
export type RefreshOutcome = z.infer<typeof refreshOutcomeSchema>;
