import { z } from 'zod';
import { serviceNameSchema, timeSchema, versionSchema } from './members.ts';
import { AUTH_METHODS, DELIVERY, TOKEN_TYPES } from './vocabulary.ts';

/** PROTOCOL.md section 5.3: what a webhook tells the service about a record. Never a secret. */
export const tokenMetadataSchema = z.object({
  serviceName: serviceNameSchema,
  tokenType: z.enum(TOKEN_TYPES),
  createdAt: timeSchema,
  updatedAt: timeSchema,
  expiryTime: timeSchema.optional(),
  hasRefreshToken: z.boolean(),
  version: versionSchema,
  delivery: z.enum(DELIVERY),
  allowedHosts: z.array(z.string()),
  allowedHeaders: z.array(z.string()),
  /** The record holds no secret. */
  empty: z.boolean(),
  /** The stored refresh token is spent; the owner has to authorise anew. */
  reauthNeeded: z.literal(true).optional(),
  provider: z
    .object({
      tokenUrl: z.string(),
      clientId: z.string(),
      authMethod: z.enum(AUTH_METHODS),
      mediated: z.boolean(),
    })
    .optional(),
});
export type TokenMetadata = z.infer<typeof tokenMetadataSchema>;
