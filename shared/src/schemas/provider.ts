import { z } from 'zod';
import { outgoingUrlSchema } from './destinations.ts';
import { secretSchema, settingSchema } from './secret-member.ts';
import { AUTH_METHODS } from './vocabulary.ts';

/** PROTOCOL.md section 5.5: where and as whom a `JWT` record is refreshed; sealed with the secret. */
export const providerSchema = z
  .strictObject({
    tokenUrl: outgoingUrlSchema,
    clientId: settingSchema,
    clientSecret: secretSchema.optional(),
    /** Default: `client_secret_basic` with a secret or `mediated`, else `none` (PROTOCOL.md section 5.4). */
    authMethod: z.enum(AUTH_METHODS).optional(),
    scope: settingSchema.optional(),
    /** Only the service can authenticate the client (PROTOCOL.md section 7). */
    mediated: z.boolean().optional(),
  })
  .refine((provider) => provider.authMethod !== 'private_key_jwt' || provider.mediated === true, {
    message: 'private_key_jwt is for mediated providers',
    path: ['authMethod'],
  });
export type Provider = z.infer<typeof providerSchema>;
