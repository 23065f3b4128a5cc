import { z } from 'zod';
import type { ContextSecrets } from './context.ts';

/** As they are kept, in a file or a keychain. */
export const contextSecretsSchema: z.ZodType<ContextSecrets> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('session'),
    accessToken: z.string(),
    accessExpiresAt: z.string(),
    refreshToken: z.string(),
  }),
  z.object({
    kind: z.literal('key'),
    key: z.string(),
    sealingKey: z.record(z.string(), z.string()).optional(),
  }),
]);
