import { z } from 'zod';
import { type Clock, isServiceName } from '@svault/shared';
import { type Actor, changeBy } from '../../core/actor.ts';
import { findEvents } from '../../audit/events-query.ts';
import { notFound } from '../../core/errors.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { createToken, removeToken, tokenOf, updateToken } from '../../management/tokens.ts';
import type { TokenMetadata } from '../../core/token.ts';
import type { WebhookRecords } from '../../webhook/token-metadata.ts';
import type { Stores } from '../../core/stores.ts';
import type { StoreTickets } from '../../webhook/tickets.ts';
import { auditPageSchema, logPageRequest, toAuditView } from './schemas/audit.ts';
import { serviceNameParams } from './schemas/fields.ts';
import { pageQuery, pageRequest, pageSchema } from './schemas/pages.ts';
import {
  newTokenSchema,
  toTokenView,
  tokenChangesSchema,
  tokenRemovalSchema,
  tokenSchema,
  tokenWithStoreSchema,
} from './schemas/tokens.ts';

export interface TokenRoutesOptions {
  readonly clock: Clock;
  readonly records: WebhookRecords;
  readonly storeTickets: StoreTickets;
  readonly stores: Pick<Stores, 'audit' | 'folders' | 'tokens'>;
}

export function createTokenRoutes({
  clock,
  records,
  storeTickets,
  stores,
}: TokenRoutesOptions): readonly ManagementRoute[] {
  const shared = { tag: 'Tokens' } as const;
  const byName = {
    ...shared,
    path: '/api/tokens/{serviceName}',
    params: serviceNameParams,
  } as const;
  /** Metadata with what stands around it: its folders, and what the webhook says. */
  const viewsOf = async ({ vaultId }: Actor, tokens: readonly TokenMetadata[]) => {
    const names = tokens.map(({ serviceName }) => serviceName);
    const folders = await stores.folders.ofTokens(vaultId, names);
    const held = await records.lookUp(vaultId, names);
    return tokens.map((token) => {
      const { serviceName: name } = token;
      return toTokenView(token, { folderIds: folders.get(name), webhook: held.get(name) });
    });
  };
  const viewOf = async (actor: Actor, token: TokenMetadata) => {
    const [view] = await viewsOf(actor, [token]);
    return view ?? toTokenView(token);
  };
  return [
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/tokens',
      operation: 'createToken',
      summary: "Describe a token and get a ticket to store its secret at the vault's webhook",
      role: 'member',
      whenLocked: 'refused',
      audit: ['TOKEN_CREATED', 'TOKEN_STORE_TICKET'],
      body: newTokenSchema,
      answer: { status: 201, schema: tokenWithStoreSchema },
      refusals: ['CONFLICT', 'WEBHOOK_NOT_CONFIGURED'],
      handle: ({ actor, body, transaction }) =>
        transaction(async (inside) => {
          const token = await createToken(inside, actor, body, clock);
          // 0: it may fill the token, and not replace what is there (protocol 5.5).
          const store = await storeTickets.issue(inside, actor, token.serviceName, 0);
          return { token: toTokenView(token), store };
        }),
    }),
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/tokens',
      operation: 'listTokens',
      summary: 'List tokens by service name, with what the webhook says of them',
      role: 'member',
      whenLocked: 'answers',
      audit: [],
      query: z.strictObject(pageQuery),
      answer: { status: 200, schema: pageSchema(tokenSchema) },
      handle: async ({ actor, query }) => {
        const page = await stores.tokens.list(actor.vaultId, pageRequest(query, 1));
        return { ...page, items: await viewsOf(actor, page.items) };
      },
    }),
    defineRoute({
      ...byName,
      method: 'get',
      operation: 'getToken',
      summary: 'Read a token, with what the webhook says of it',
      role: 'member',
      whenLocked: 'answers',
      audit: [],
      answer: { status: 200, schema: tokenSchema },
      handle: async ({ actor, params }) => viewOf(actor, await tokenOf(stores, actor, params.serviceName)),
    }),
    defineRoute({
      ...byName,
      path: '/api/tokens/{serviceName}/history',
      method: 'get',
      operation: 'listTokenHistory',
      summary:
        'List what happened with a token, newest first; a page may hold less than asked for and still have a cursor',
      role: 'member',
      whenLocked: 'answers',
      audit: [],
      query: z.strictObject(pageQuery),
      answer: { status: 200, schema: auditPageSchema },
      handle: async ({ actor, params: { serviceName }, query }) => {
        await tokenOf(stores, actor, serviceName);
        const page = await findEvents(stores.audit, actor.vaultId, { serviceName }, logPageRequest(query));
        return { ...page, items: page.items.map(toAuditView) };
      },
    }),
    defineRoute({
      ...byName,
      method: 'patch',
      operation: 'updateToken',
      summary: 'Change how a token is described; members left out stay',
      role: 'admin',
      whenLocked: 'refused',
      audit: ['TOKEN_UPDATED'],
      body: tokenChangesSchema,
      answer: { status: 200, schema: tokenSchema },
      handle: async ({ actor, body, transaction, params: { serviceName } }) => {
        return viewOf(
          actor,
          await transaction((inside) => updateToken(inside, actor, serviceName, body, clock)),
        );
      },
    }),
    defineRoute({
      ...byName,
      method: 'delete',
      operation: 'deleteToken',
      summary: 'Delete a token, every grant for it, and its record at the webhook',
      role: 'admin',
      whenLocked: 'refused',
      audit: ['TOKEN_DELETED', 'GRANT_REVOKED', 'POLICY_DETACHED'],
      answer: { status: 200, schema: tokenRemovalSchema },
      // Access ends first and at once; then the record goes. When the webhook is away the owner sees that, and a
      // repeat reaches the record although the token is gone here: only when neither side has it is it not found.
      handle: async ({ actor, transaction, params: { serviceName } }) => {
        if (!isServiceName(serviceName)) throw notFound();
        const removed = await transaction((inside) => removeToken(inside, actor, serviceName));
        const webhook = await records.remove(actor.vaultId, serviceName);
        if (!removed && webhook !== 'deleted') throw notFound();
        if (!removed)
          await transaction(({ audit }) => audit.append(changeBy(actor, 'TOKEN_DELETED', { serviceName })));
        return { serviceName, webhook };
      },
    }),
  ];
}
