import { z } from 'zod';
import { outgoingUrlSchema } from './destinations.ts';
import { secretSchema, settingSchema } from './secret-member.ts';

/** Protocol section 5.5: how a `RawCredential` is turned into a short-lived one. Unknown members are refused. */
export const minterSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('aws-sts'),
    accessKeyId: settingSchema,
    secretAccessKey: secretSchema,
    roleArn: settingSchema.optional(),
    region: settingSchema.optional(),
    durationSeconds: z.int().min(900).max(129_600).optional(),
    sessionPolicy: z
      .string()
      .max(16 * 1024)
      .optional(),
  }),
  z.strictObject({
    type: z.literal('gcp-service-account'),
    clientEmail: settingSchema,
    privateKey: secretSchema,
    tokenUri: outgoingUrlSchema.optional(),
    scopes: z.array(settingSchema).min(1).max(100),
  }),
  z.strictObject({
    type: z.literal('github-app'),
    appId: settingSchema,
    installationId: settingSchema,
    privateKey: secretSchema,
    apiUrl: outgoingUrlSchema.optional(),
    permissions: z.record(z.string().max(128), z.string().max(128)).optional(),
    repositories: z.array(settingSchema).max(500).optional(),
  }),
]);
export type Minter = z.infer<typeof minterSchema>;
