import * as z from 'zod';

const BASE64URL = /^[A-Za-z0-9_-]*$/;

/** As many characters of base64url as these bytes take. */
export const base64urlOf = (bytes: number): z.ZodString =>
  z
    .string()
    .length(Math.ceil((bytes * 8) / 6))
    .regex(BASE64URL, 'not base64url');

const common = {
  kid: z.string().max(256).optional(),
  use: z.literal('enc').optional(),
  alg: z.literal('ECDH-ES').optional(),
};

/** By curve. A private member, `d`, is an unknown one and refused. */
export const recipientSchemas = {
  'P-256': z.strictObject({
    kty: z.literal('EC'),
    crv: z.literal('P-256'),
    x: base64urlOf(32),
    y: base64urlOf(32),
    ...common,
  }),
  'P-384': z.strictObject({
    kty: z.literal('EC'),
    crv: z.literal('P-384'),
    x: base64urlOf(48),
    y: base64urlOf(48),
    ...common,
  }),
  X25519: z.strictObject({ kty: z.literal('OKP'), crv: z.literal('X25519'), x: base64urlOf(32), ...common }),
};

/** PROTOCOL.md section 5.5: a JWK (RFC 7517) of P-256, P-384 (RFC 7518 section 6.2.1) or X25519 (RFC 8037 section 2). */
export const recipientSchema = z.discriminatedUnion('crv', [
  recipientSchemas['P-256'],
  recipientSchemas['P-384'],
  recipientSchemas.X25519,
]);
export type Recipient = z.infer<typeof recipientSchema>;
