import * as z from 'zod';
import { idSchema } from './members.ts';

/** PROTOCOL.md section 5.1: a one-time code, a UUID in lower case; its 36 bytes are the key of the exchange. */
export const bindCodeSchema = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, 'not a UUID in lower case');

/** Lower-case hex of the SHA-256 of the key's 32 bytes. */
export const hmacHashSchema = z.string().regex(/^[0-9a-f]{64}$/, 'not a SHA-256 in lower-case hex');

/** `POST /v1/exchange` to bind, signed with the code. */
export const exchangeRequestSchema = z.object({
  code: bindCodeSchema,
  service: z.object({
    /** Compared byte for byte with the address that the webhook is configured for. */
    baseUrl: z.string().min(1).max(2048),
    vaultId: idSchema,
  }),
});
export type ExchangeRequest = z.infer<typeof exchangeRequestSchema>;

const keyMembers = {
  keyId: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'not a key id'),
  /** base64url of 32 random bytes. */
  hmacSecret: z.string().regex(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/, 'not base64url of 32 bytes'),
};

/** Answer to {@link exchangeRequestSchema}. */
export const exchangeAnswerSchema = z.object({
  webhookId: idSchema,
  ...keyMembers,
  protocol: z.literal('v1'),
  capabilities: z.array(z.string().max(64)).max(100),
});
export type ExchangeAnswer = z.infer<typeof exchangeAnswerSchema>;

/** `POST /v1/exchange` to rotate the key, signed with the current one. */
export const rotateRequestSchema = z.object({ op: z.literal('rotate') });
export type RotateRequest = z.infer<typeof rotateRequestSchema>;

/** Answer to {@link rotateRequestSchema}: a pending key. */
export const rotateAnswerSchema = z.object(keyMembers);
export type RotateAnswer = z.infer<typeof rotateAnswerSchema>;
