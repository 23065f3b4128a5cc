import { outgoingUrlSchema } from '@svault/shared/schemas';
import * as z from 'zod';
import { ASSERTION_ALGORITHMS, CLIENT_AUTH_METHODS, type Provider } from '../../core/provider.ts';
import {
  checkNewSecret,
  checkSecret,
  checkTokenUrl,
  createProvider,
  createTokenUrlRule,
  deleteProvider,
  updateProvider,
} from '../../management/providers.ts';
import type { Needs } from './dependencies.ts';
import {
  idParams,
  lineSchema,
  pageQuery,
  pageRequest,
  pageSchema,
  timeSchema,
  viewOfPage,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

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

const newProviderSchema = z
  .strictObject({ ...settings, authMethod, ...secret })
  .meta({ id: 'NewProvider', description: 'A client of an OAuth provider, for the mediated refresh.' });

const providerChangesSchema = z
  .strictObject({
    ...z.object(settings).partial().shape,
    authMethod: authMethod.optional().meta({ description: 'Comes with the secret, given anew' }),
    ...secret,
  })
  .meta({
    id: 'ProviderChanges',
    description: 'Members left out stay. Another tokenUrl or clientId takes the secret, given anew.',
  });

export const toProviderView = (provider: Provider): z.output<typeof providerSchema> => ({
  ...provider,
  hasSecret: true,
});

/** OAuth clients for the mediated refresh: admins only, and their secrets go in and never out. */
export function createProviderRoutes({
  clock,
  egressAllow,
  masterKeys,
  stores,
}: Needs<'clock' | 'egressAllow' | 'masterKeys', 'providers'>): ManagementRoute[] {
  const tokenUrlRule = createTokenUrlRule(egressAllow);
  const shared = { tag: 'Providers', role: 'admin' } as const;
  const byId = { ...shared, params: idParams('prv') } as const;
  return [
    defineRoute('POST /api/providers', {
      ...shared,
      operation: 'createProvider',
      summary: 'Give the client secret or key by which the service authenticates a client at its provider',
      body: newProviderSchema,
      response: { status: 201, schema: providerSchema },
      errors: ['CONFLICT'],
      handle: async ({ body, transaction }) => {
        const { name, tokenUrl, clientId } = body;
        checkTokenUrl(tokenUrl, tokenUrlRule);
        const secret = await checkSecret(body);
        return toProviderView(
          await transaction((inside) =>
            createProvider(inside, { name, tokenUrl, clientId, ...secret }, { masterKeys, clock }),
          ),
        );
      },
    }),
    defineRoute('GET /api/providers', {
      ...shared,
      operation: 'listProviders',
      summary: 'List providers, oldest first, without their secrets',
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: pageSchema(providerSchema) },
      handle: ({ actor, query }) =>
        viewOfPage(stores.providers.list(actor.vaultId, pageRequest(query)), toProviderView),
    }),
    defineRoute('PATCH /api/providers/{id}', {
      ...byId,
      operation: 'updateProvider',
      summary: 'Change a provider; members left out stay',
      body: providerChangesSchema,
      response: { status: 200, schema: providerSchema },
      errors: ['CONFLICT'],
      handle: async ({ body, transaction, params: { id } }) => {
        const { name, tokenUrl, clientId } = body;
        checkTokenUrl(tokenUrl, tokenUrlRule);
        const secret = await checkNewSecret(body);
        const changes = { name, tokenUrl, clientId, secret };
        const members = Object.keys(body);
        return toProviderView(
          await transaction((inside) => updateProvider(inside, id, changes, { members, masterKeys, clock })),
        );
      },
    }),
    defineRoute('DELETE /api/providers/{id}', {
      ...byId,
      operation: 'deleteProvider',
      summary: 'Delete a provider with its secret',
      change: (inside, { params }) => deleteProvider(inside, params.id),
    }),
  ];
}
