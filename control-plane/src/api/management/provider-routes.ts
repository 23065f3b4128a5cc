import { z } from 'zod';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { createProvider, deleteProvider, updateProvider } from '../../management/manage-providers.ts';
import { checkNewSecret, checkSecret, checkTokenUrl } from '../../management/provider-input.ts';
import type { TokenUrlRule } from '../../management/token-url.ts';
import type { Stores } from '../../core/stores.ts';
import { idParams } from './schemas/fields.ts';
import { pageQuery, pageRequest, pageSchema } from './schemas/pages.ts';
import {
  newProviderSchema,
  providerChangesSchema,
  providerSchema,
  toProviderView,
} from './schemas/providers.ts';

/** OAuth clients for the mediated refresh: admins only, and their secrets go in and never out. */
export function createProviderRoutes({
  tokenUrlRule,
  clock,
  masterKeys,
  stores,
}: {
  readonly tokenUrlRule: TokenUrlRule;
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
  readonly stores: Pick<Stores, 'providers'>;
}): readonly ManagementRoute[] {
  const shared = { tag: 'Providers', role: 'admin' } as const;
  const byId = { ...shared, path: '/api/providers/{id}', params: idParams } as const;
  return [
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/providers',
      operation: 'createProvider',
      summary: 'Give the client secret or key by which the service authenticates a client at its provider',
      whenLocked: 'refused',
      audit: ['PROVIDER_CREATED'],
      body: newProviderSchema,
      answer: { status: 201, schema: providerSchema },
      refusals: ['CONFLICT'],
      handle: async ({ actor, body, transaction }) => {
        const { name, tokenUrl, clientId } = body;
        checkTokenUrl(tokenUrl, tokenUrlRule);
        const secret = await checkSecret(body);
        return toProviderView(
          await transaction((inside) =>
            createProvider(inside, actor, { name, tokenUrl, clientId, ...secret }, { masterKeys, clock }),
          ),
        );
      },
    }),
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/providers',
      operation: 'listProviders',
      summary: 'List providers, oldest first, without their secrets',
      whenLocked: 'answers',
      audit: [],
      query: z.strictObject(pageQuery),
      answer: { status: 200, schema: pageSchema(providerSchema) },
      handle: async ({ actor, query }) => {
        const page = await stores.providers.list(actor.vaultId, pageRequest(query, 2));
        return { ...page, items: page.items.map(toProviderView) };
      },
    }),
    defineRoute({
      ...byId,
      method: 'patch',
      operation: 'updateProvider',
      summary: 'Change a provider; members left out stay',
      whenLocked: 'refused',
      audit: ['PROVIDER_UPDATED'],
      body: providerChangesSchema,
      answer: { status: 200, schema: providerSchema },
      refusals: ['CONFLICT'],
      handle: async ({ actor, body, transaction, params: { id } }) => {
        const { name, tokenUrl, clientId } = body;
        checkTokenUrl(tokenUrl, tokenUrlRule);
        const secret = await checkNewSecret(body);
        const changes = { name, tokenUrl, clientId, secret };
        const members = Object.keys(body);
        return toProviderView(
          await transaction((inside) =>
            updateProvider(inside, actor, id, changes, { members, masterKeys, clock }),
          ),
        );
      },
    }),
    defineRoute({
      ...byId,
      method: 'delete',
      operation: 'deleteProvider',
      summary: 'Delete a provider with its secret',
      whenLocked: 'refused',
      audit: ['PROVIDER_DELETED'],
      answer: { status: 204 },
      handle: ({ actor, transaction, params }) =>
        transaction((inside) => deleteProvider(inside, actor, params.id)),
    }),
  ];
}
