import { z } from 'zod';

/** What the webhook says of a record (protocol 5.3), as far as the service passes it on. */
const heldSchema = z.looseObject({
  tokenType: z.string(),
  version: z.number(),
  empty: z.boolean(),
  delivery: z.string(),
  allowedHosts: z.array(z.string()),
  allowedHeaders: z.array(z.string()),
  hasRefreshToken: z.boolean(),
  updatedAt: z.string(),
  expiryTime: z.string().optional(),
  reauthNeeded: z.boolean().optional(),
  provider: z.looseObject({ tokenUrl: z.string(), clientId: z.string() }).optional(),
});
export type HeldRecord = z.infer<typeof heldSchema>;

/** A token as the service shows it. `webhook` is absent where that holds none, or did not answer at once. */
export const tokenSchema = z.looseObject({
  serviceName: z.string(),
  tokenType: z.string(),
  displayName: z.string(),
  description: z.string(),
  notes: z.string(),
  tags: z.array(z.string()),
  createdAt: z.string(),
  updatedAt: z.string(),
  upstreamRejectedAt: z.string().optional(),
  webhook: heldSchema.optional(),
});
export type Token = z.infer<typeof tokenSchema>;
