import { z } from 'zod';
import type { Clock } from '@svault/shared';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Actor } from '../../core/actor.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import {
  createProxy,
  deleteProxy,
  proxyOf,
  proxyToChange,
  revealProxyKey,
  revokeProxy,
  updateProxy,
} from '../../management/manage-proxies.ts';
import type { OfferConfig } from '../../management/offer-config.ts';
import type { UpstreamRules } from '../../management/proxy-rules.ts';
import type { Proxy } from '../../core/proxy.ts';
import type { Stores } from '../../core/stores.ts';
import { idParams } from './schemas/fields.ts';
import { pageQuery, pageRequest, pageSchema } from './schemas/pages.ts';
import {
  newProxySchema,
  proxyChangesSchema,
  proxyKeySchema,
  proxySchema,
  proxyWithKeySchema,
  toNewProxy,
  toProxyView,
} from './schemas/proxies.ts';

export function createProxyRoutes({
  clock,
  masterKeys,
  offerConfig,
  rules,
  stores,
}: {
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
  readonly offerConfig: OfferConfig;
  readonly rules: UpstreamRules;
  readonly stores: Pick<Stores, 'proxies' | 'webhookLinks'>;
}): readonly ManagementRoute[] {
  const shared = { tag: 'Proxies', role: 'member' } as const;
  const byId = { ...shared, path: '/api/proxies/{id}', params: idParams } as const;
  const proxy = { status: 200, schema: proxySchema } as const;
  const viewOf = async ({ vaultId }: Actor, of: Proxy) =>
    toProxyView(of, await stores.webhookLinks.find(vaultId));
  return [
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/proxies',
      operation: 'createProxy',
      summary: 'Create a proxy; its key is in the answer',
      whenLocked: 'refused',
      audit: ['PROXY_CREATED'],
      body: newProxySchema,
      answer: { status: 201, schema: proxyWithKeySchema },
      handle: async ({ actor, body, transaction }) => {
        const input = toNewProxy(body);
        const made = await transaction((inside) =>
          createProxy(inside, actor, input, { clock, masterKeys, rules }),
        );
        return { proxy: await viewOf(actor, await offerConfig(made.proxy)), key: made.key };
      },
    }),
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/proxies',
      operation: 'listProxies',
      summary: 'List proxies, oldest first; revoked ones too',
      whenLocked: 'answers',
      audit: [],
      query: z.strictObject(pageQuery),
      answer: { status: 200, schema: pageSchema(proxySchema) },
      handle: async ({ actor: { vaultId }, query }) => {
        const page = await stores.proxies.list(vaultId, pageRequest(query, 2));
        const link = await stores.webhookLinks.find(vaultId);
        return { ...page, items: page.items.map((item) => toProxyView(item, link)) };
      },
    }),
    defineRoute({
      ...byId,
      method: 'get',
      operation: 'getProxy',
      summary: 'Read a proxy, a revoked one too',
      whenLocked: 'answers',
      audit: [],
      answer: proxy,
      handle: async ({ actor, params }) => viewOf(actor, await proxyOf(stores, actor, params.id)),
    }),
    defineRoute({
      ...byId,
      method: 'patch',
      operation: 'updateProxy',
      summary: 'Change a proxy; members left out stay',
      whenLocked: 'refused',
      audit: ['PROXY_UPDATED', 'OAUTH_SESSION_REVOKED'],
      body: proxyChangesSchema,
      answer: proxy,
      refusals: ['CONFLICT'],
      handle: async ({ actor, body, transaction, params }) => {
        const changed = await transaction((inside) => updateProxy(inside, actor, params.id, body, rules));
        return viewOf(actor, await offerConfig(changed));
      },
    }),
    defineRoute({
      ...byId,
      method: 'delete',
      operation: 'deleteProxy',
      summary: 'Delete a proxy; its key ends at once, and its settings leave the webhook',
      whenLocked: 'refused',
      audit: ['OAUTH_SESSION_REVOKED', 'POLICY_DETACHED', 'PROXY_DELETED'],
      answer: { status: 204 },
      handle: ({ actor, transaction, params }) =>
        transaction((inside) => deleteProxy(inside, actor, params.id, clock)),
    }),
    defineRoute({
      ...byId,
      method: 'post',
      path: '/api/proxies/{id}/revoke',
      operation: 'revokeProxy',
      summary: "End a proxy's key for good, and keep the proxy for the record",
      whenLocked: 'refused',
      audit: ['OAUTH_SESSION_REVOKED', 'KEY_REVOKED'],
      answer: proxy,
      handle: async ({ actor, transaction, params }) =>
        viewOf(actor, await transaction((inside) => revokeProxy(inside, actor, params.id, clock))),
    }),
    defineRoute({
      ...byId,
      method: 'post',
      path: '/api/proxies/{id}/reveal-key',
      operation: 'revealProxyKey',
      summary: "Show a proxy's key once more; audited",
      whenLocked: 'refused',
      audit: ['KEY_REVEALED'],
      limit: {
        scope: 'key_reveal',
        target: async ({ actor, params }) => (await proxyToChange(stores, actor, params.id)).id,
      },
      answer: { status: 200, schema: proxyKeySchema },
      refusals: ['CONFLICT'],
      handle: async ({ actor, transaction, params }) => ({
        key: await transaction((inside) => revealProxyKey(inside, actor, params.id, masterKeys)),
      }),
    }),
  ];
}
