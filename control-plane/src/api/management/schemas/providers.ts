import { z } from 'zod';
import { outgoingUrlSchema } from '@svault/shared/schemas';
import { ASSERTION_ALGORITHMS, CLIENT_AUTH_METHODS, type Provider } from '../../../core/provider.ts';
import { lineSchema, timeSchema } from './fields.ts';

const authMethod = z.enum(CLIENT_AUTH_METHODS);
const algorithm = z.enum(ASSERTION_ALGORITHMS);

/** RFC 6749, appendix A.1 and A.2. */
const visibleText = (maxCharacters: number): z.ZodString =>
  z
    .string()
    .min(1)
    .max(maxCharacters)
    .regex(/^[\x20-\x7e]*$/, 'must be visible ASCII');

export const providerSchema = z
  .object({
    id: z.string().meta({ examples: ['prv_…'] }),
    name: z.string(),
    tokenUrl: z.string(),
    clientId: z.string(),
    authMethod,
    algorithm: algorithm.optional(),
    keyId: z.string().optional(),
    hasSecret: z.boolean().meta({ description: 'The secret itself is never shown' }),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'Provider' });

const settings = {
  name: lineSchema(100),
  tokenUrl: outgoingUrlSchema.meta({
    description: 'Compared byte for byte with the one that the webhook has sealed with a token',
    examples: ['https://id.example.org/oauth/token'],
  }),
  clientId: visibleText(2_048),
};

const secret = {
  clientSecret: visibleText(4_096).optional().meta({ description: 'For client_secret_…; write-only' }),
  privateKey: z
    .string()
    .max(8_192)
    .optional()
    .meta({ description: 'For private_key_jwt: PEM, PKCS#8; write-only' }),
  algorithm: algorithm.optional().meta({ description: 'For private_key_jwt; RS256 unless given' }),
  keyId: visibleText(256).optional().meta({ description: 'For private_key_jwt: `kid` of its assertions' }),
};

export const newProviderSchema = z
  .strictObject({ ...settings, authMethod, ...secret })
  .meta({ id: 'NewProvider', description: 'A client of an OAuth provider, for the mediated refresh.' });

export const providerChangesSchema = z
  .strictObject({
    name: settings.name.optional(),
    tokenUrl: settings.tokenUrl.optional(),
    clientId: settings.clientId.optional(),
    authMethod: authMethod.optional().meta({ description: 'Comes with the secret, given anew' }),
    ...secret,
  })
  .meta({
    id: 'ProviderChanges',
    description: 'Members left out stay. Another tokenUrl or clientId takes the secret, given anew.',
  });

export function toProviderView(provider: Provider): z.output<typeof providerSchema> {
  const { id, name, tokenUrl, clientId, authMethod: method, createdAt, updatedAt } = provider;
  return {
    id,
    name,
    tokenUrl,
    clientId,
    authMethod: method,
    ...(provider.algorithm !== undefined && { algorithm: provider.algorithm }),
    ...(provider.keyId !== undefined && { keyId: provider.keyId }),
    hasSecret: true,
    createdAt,
    updatedAt,
  };
}
