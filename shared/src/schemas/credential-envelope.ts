import * as z from 'zod';
import { serviceNameSchema, timeSchema } from './members.ts';
import { TOKEN_TYPES } from './vocabulary.ts';

/** PROTOCOL.md section 5.4: what `/v1/credential` answers (specification, "Credential envelope"). */
export const credentialEnvelopeSchema = z.object({
  token: z.object({
    /** Always a string, by token type (PROTOCOL.md section 5.5, the table). */
    accessToken: z.string(),
    refreshToken: z.string().optional(),
    serviceName: serviceNameSchema,
    tokenType: z.enum(TOKEN_TYPES),
    createdAt: timeSchema,
    expiryTime: timeSchema.optional(),
    /** `Certificate`: PEM. */
    privateKey: z.string().optional(),
    /** `SSHKey`. */
    publicKey: z.string().optional(),
    /** `SSHKey`: OpenSSH's `SHA256:…`. */
    fingerprint: z.string().optional(),
    /** `TOTP`: seconds for which the code still holds, from 1. */
    expiresIn: z.int().min(1).optional(),
  }),
});
export type CredentialEnvelope = z.infer<typeof credentialEnvelopeSchema>;
