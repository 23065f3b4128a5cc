import { z } from 'zod';
import type { Clock } from '@svault/shared';
import { changeBy } from '../accounts/actor.ts';
import { notFound } from '../errors.ts';
import { type ManagementRoute, defineRoute } from '../http/route-definition.ts';
import { createToken, removeToken, tokenOf, updateToken } from '../tokens/manage-tokens.ts';
import type { WebhookRecords } from '../tokens/webhook-records.ts';
import type { Stores } from '../unit-of-work.ts';
import type { StoreTickets } from '../webhook-link/store-tickets.ts';
import { serviceNameSchema } from './schemas/members.ts';
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
  readonly stores: Pick<Stores, 'tokens'>;
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
    params: z.object({ serviceName: serviceNameSchema }),
  } as const;
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
      handle: ({ actor, body, change }) =>
        change(async (inside) => {
          const token = await createToken(inside, actor, body, clock);
          // 0: it may fill the token, and not replace what is there (protocol 5.5).
          const store = await storeTickets.issue(inside, actor, token.serviceName, 0);
          return { token: toTokenView(token, undefined), store };
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
        const held = await records.lookUp(
          actor.vaultId,
          page.items.map(({ serviceName }) => serviceName),
        );
        return { ...page, items: page.items.map((token) => toTokenView(token, held.get(token.serviceName))) };
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
      handle: async ({ actor, params: { serviceName } }) => {
        const token = await tokenOf(stores, actor, serviceName);
        const held = await records.lookUp(actor.vaultId, [serviceName]);
        return toTokenView(token, held.get(serviceName));
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
      handle: async ({ actor, body, change, params: { serviceName } }) => {
        const token = await change((inside) => updateToken(inside, actor, serviceName, body, clock));
        const held = await records.lookUp(actor.vaultId, [serviceName]);
        return toTokenView(token, held.get(serviceName));
      },
    }),
    defineRoute({
      ...byName,
      method: 'delete',
      operation: 'deleteToken',
      summary: 'Delete a token, every grant for it, and its record at the webhook',
      role: 'admin',
      whenLocked: 'refused',
      audit: ['TOKEN_DELETED', 'GRANT_REVOKED'],
      answer: { status: 200, schema: tokenRemovalSchema },
      // Access ends first and at once; then the record goes. When the webhook is away the owner sees that, and a
      // repeat reaches the record although the token is gone here: only when neither side has it is it not found.
      handle: async ({ actor, change, params: { serviceName } }) => {
        const removed = await change((inside) => removeToken(inside, actor, serviceName));
        const webhook = await records.remove(actor.vaultId, serviceName);
        if (!removed && webhook !== 'deleted') throw notFound();
        if (!removed)
          await change(({ audit }) => audit.append(changeBy(actor, 'TOKEN_DELETED', { serviceName })));
        return { serviceName, webhook };
      },
    }),
  ];
}
