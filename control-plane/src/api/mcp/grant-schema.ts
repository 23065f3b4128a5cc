import { z } from 'zod';

/** What every tool that tells of a grant says of it (specification, "Grant"). */
export const grantSchema = z.strictObject({
  serviceName: z.string(),
  grantExpiresAt: z.string().nullable().describe('ISO 8601; null: until revoked.'),
  refreshPolicy: z.string(),
});
