import type { Id } from '@svault/shared';
import { APPROVED_OPERATIONS, TOKEN_TYPES, thumbprintSchema } from '@svault/shared/schemas';
import * as z from 'zod';
import { ownOf } from '../../core/change.ts';
import { findEvents } from '../../audit/events-query.ts';
import { type Actor, eventBy } from '../../core/actor.ts';
import { ApiError, notFound } from '../../core/errors.ts';
import { MAX_REASON_CHARACTERS } from '../../core/approval.ts';
import type { TokenMetadata } from '../../core/token.ts';
import { createToken, declareApproval, removeToken, updateToken } from '../../management/tokens.ts';
import { createWebhookApprovals } from '../../webhook/approvals.ts';
import { createOwnerApprovals } from '../../webhook/owner-approvals.ts';
import { boundWebhookOf } from '../../webhook/tickets.ts';
import { REMOVALS } from '../../webhook/token-metadata.ts';
import { auditPageSchema, toAuditView } from './audit-view.ts';
import { logPageRequest } from './audit.ts';
import type { Needs } from './dependencies.ts';
import {
  idSchema,
  lineSchema,
  namedPageQuery,
  namedPageRequest,
  pageQuery,
  pageSchema,
  serviceNameParams,
  serviceNameSchema,
  textSchema,
  timeSchema,
  uniqueList,
  viewOfPage,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { toTokenView, tokenSchema } from './token-view.ts';

const editable = {
  displayName: lineSchema(200).optional(),
  description: textSchema(1_000).optional(),
  notes: textSchema(10_000).optional(),
  tags: uniqueList(lineSchema(50), 20).optional(),
};

const approvalMembers = {
  approval: uniqueList(z.enum(APPROVED_OPERATIONS), APPROVED_OPERATIONS.length).optional().meta({
    description:
      'What the secret is going to be stored with an approval for, so that the first request asks for it; the webhook decides',
  }),
};

const newTokenSchema = z
  .strictObject({
    serviceName: serviceNameSchema,
    tokenType: z.enum(TOKEN_TYPES),
    ...editable,
    ...approvalMembers,
  })
  .meta({
    id: 'NewToken',
    description: 'What the token is called. The secret goes to the webhook, with the ticket in the answer.',
  });

const tokenChangesSchema = z.strictObject(editable).meta({ id: 'TokenChanges' });

const storeAddressSchema = z
  .object({
    url: z.string().meta({ description: 'Where to POST the secret; never to this service' }),
    ticket: z.string().meta({ description: 'For Authorization: Bearer; works once' }),
    expiresAt: timeSchema,
  })
  .meta({ id: 'StoreAddress' });

const tokenWithStoreSchema = z.object({ token: tokenSchema, store: storeAddressSchema });

const tokenRemovalSchema = z
  .object({
    serviceName: z.string(),
    webhook: z.enum(REMOVALS).meta({
      description:
        'What became of the record: deleted (kept there for 7 days), absent, unreachable (delete once more when the ' +
        'webhook is back), or not_bound',
    }),
  })
  .meta({ id: 'TokenRemoval' });

const credentialTicketRequestSchema = z.strictObject({
  jkt: thumbprintSchema.optional().meta({ description: "Thumbprint of a sealed record's recipient" }),
  approval: z
    .strictObject({
      reason: z
        .string()
        .max(MAX_REASON_CHARACTERS)
        .optional()
        .meta({ description: 'For the one who decides' }),
    })
    .optional()
    .meta({
      description:
        'Asks the webhook first for the approval that the credential may need: 403 APPROVAL_REQUIRED says where a person decides, the same request gets the ticket afterwards',
    }),
});

const credentialTicketSchema = z.object({
  url: z.string().meta({ description: 'Works once' }),
  expiresAt: timeSchema,
});

const storeTicketRequestSchema = z.strictObject({
  ifv: z.int().min(0).optional().meta({
    description: 'The version that may be replaced, 0 for none; a member can say 0 only, and need not',
  }),
  ...approvalMembers,
});

export function createTokenRoutes({
  clock,
  records,
  storeTickets,
  stores,
  tickets: { ownerCredentialUrl },
  webhook,
}: Needs<
  'clock' | 'records' | 'storeTickets' | 'tickets' | 'webhook',
  'audit' | 'folders' | 'grants' | 'names' | 'refreshAttempts' | 'tokens' | 'webhookLinks'
>): ManagementRoute[] {
  const ownerApprovals = createOwnerApprovals({
    webhook: createWebhookApprovals({ webhook, clock }),
    names: stores.names,
  });
  const shared = { tag: 'Tokens' } as const;
  const byName = { ...shared, params: serviceNameParams } as const;
  /** For owners: the secret goes between them and the webhook, past this service. */
  const tickets = { ...byName, errors: ['NOT_FOUND', 'WEBHOOK_NOT_CONFIGURED'] } as const;
  /** Adds each token's folders and the webhook's record of it. */
  const viewsOf = async ({ vaultId }: Actor, tokens: readonly TokenMetadata[]) => {
    const names = tokens.map(({ serviceName }) => serviceName);
    const folders = await stores.folders.ofTokens(vaultId, names);
    const held = await records.lookUp(vaultId, names);
    const attempts = await stores.refreshAttempts.ofServices(vaultId, names);
    const counts = await stores.grants.countsOf(vaultId, 'service', names);
    return tokens.map((token) => {
      const { serviceName: name } = token;
      return toTokenView(token, {
        folderIds: folders.get(name),
        grants: counts.get(name) ?? 0,
        refresh: attempts.get(name),
        webhook: held.get(name),
      });
    });
  };
  const viewOf = async (actor: Actor, token: TokenMetadata) => {
    const [view] = await viewsOf(actor, [token]);
    return view ?? toTokenView(token);
  };
  return [
    defineRoute('POST /api/tokens', {
      ...shared,
      operation: 'createToken',
      summary: "Describe a token and get a ticket to store its secret at the vault's webhook",
      role: 'member',
      body: newTokenSchema,
      response: { status: 201, schema: tokenWithStoreSchema },
      errors: ['CONFLICT', 'WEBHOOK_NOT_CONFIGURED'],
      change: async (inside, { actor, body }) => {
        const token = await createToken(inside, body, clock);
        // 0: it may fill the token, and not replace what is there (PROTOCOL.md section 5.5).
        const store = await storeTickets.issue(inside, actor, token.serviceName, 0);
        await declareApproval(inside, token.serviceName, body.approval);
        return { token: toTokenView(token), store };
      },
    }),
    defineRoute('GET /api/tokens', {
      ...shared,
      operation: 'listTokens',
      summary: 'List tokens by service name, with what the webhook says of them',
      role: 'member',
      query: z.strictObject({
        ...namedPageQuery,
        tokenType: z.enum(TOKEN_TYPES).optional(),
        folderId: idSchema('fld').optional(),
      }),
      response: { status: 200, schema: pageSchema(tokenSchema) },
      handle: async ({ actor, query }) => {
        const { tokenType, folderId } = query;
        const filter = { tokenType, folderId: folderId as Id<'fld'> | undefined };
        const page = await stores.tokens.list(actor.vaultId, { ...namedPageRequest(query, 1), ...filter });
        return { ...page, items: await viewsOf(actor, page.items) };
      },
    }),
    defineRoute('GET /api/tokens/{serviceName}', {
      ...byName,
      operation: 'getToken',
      summary: 'Read a token, with what the webhook says of it',
      role: 'member',
      response: { status: 200, schema: tokenSchema },
      handle: async ({ actor, params }) =>
        viewOf(actor, await ownOf(stores.tokens, actor, params.serviceName)),
    }),
    defineRoute('GET /api/tokens/{serviceName}/history', {
      ...byName,
      operation: 'listTokenHistory',
      summary:
        'List what happened with a token, newest first; a page may hold less than asked for and still have a cursor',
      role: 'member',
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: auditPageSchema },
      handle: async ({ actor, params: { serviceName }, query }) => {
        await ownOf(stores.tokens, actor, serviceName);
        const events = findEvents(stores.audit, actor.vaultId, { serviceName }, logPageRequest(query));
        return viewOfPage(events, toAuditView);
      },
    }),
    defineRoute('PATCH /api/tokens/{serviceName}', {
      ...byName,
      operation: 'updateToken',
      summary: 'Change how a token is described; members left out stay',
      role: 'admin',
      body: tokenChangesSchema,
      response: { status: 200, schema: tokenSchema },
      handle: async ({ actor, body, transaction, params: { serviceName } }) => {
        const token = await transaction((inside) => updateToken(inside, serviceName, body, clock));
        return viewOf(actor, token);
      },
    }),
    defineRoute('DELETE /api/tokens/{serviceName}', {
      ...byName,
      operation: 'deleteToken',
      summary: 'Delete a token, every grant for it, and its record at the webhook',
      role: 'admin',
      response: { status: 200, schema: tokenRemovalSchema },
      // Access ends first and at once, then the record is deleted. With the webhook unreachable, the response says so, and a
      // repetition deletes the record although the token is deleted: 404 only where neither side has it.
      handle: async ({ actor, transaction, params: { serviceName } }) => {
        const removed = await transaction((inside) => removeToken(inside, serviceName));
        const webhook = await records.remove(actor.vaultId, serviceName);
        if (!removed && webhook !== 'deleted') throw notFound();
        if (!removed)
          await transaction(({ audit }) => audit.append(eventBy(actor, 'TOKEN_DELETED', { serviceName })));
        return { serviceName, webhook };
      },
    }),
    defineRoute('POST /api/tokens/{serviceName}/store-ticket', {
      ...tickets,
      operation: 'createStoreTicket',
      summary: 'Get a ticket to store the secret at the webhook; a member can fill a token, not replace one',
      role: 'member',
      body: storeTicketRequestSchema,
      response: { status: 200, schema: storeAddressSchema },
      change: async (inside, { actor, body: { ifv, approval }, params: { serviceName } }) => {
        await ownOf(inside.tokens, actor, serviceName);
        await declareApproval(inside, serviceName, approval);
        return storeTickets.issue(inside, actor, serviceName, versionToReplace(actor, ifv));
      },
    }),
    defineRoute('POST /api/tokens/{serviceName}/credential-ticket', {
      ...tickets,
      operation: 'createCredentialTicket',
      summary: 'Get an address that gives the credential once',
      role: 'admin',
      body: credentialTicketRequestSchema,
      errors: [...tickets.errors, 'APPROVAL_REQUIRED', 'WEBHOOK_REFUSED', 'WEBHOOK_UNAVAILABLE'],
      response: { status: 200, schema: credentialTicketSchema },
      handle: async ({ actor, transaction, body: { jkt, approval }, params: { serviceName } }) => {
        if (approval !== undefined) {
          await ownOf(stores.tokens, actor, serviceName);
          const link = await boundWebhookOf(stores, actor.vaultId);
          await ownerApprovals.mustBeApproved(link, actor, serviceName, approval.reason);
        }
        return transaction(async (inside) => {
          await ownOf(inside.tokens, actor, serviceName);
          const link = await boundWebhookOf(inside, actor.vaultId);
          await inside.audit.append(eventBy(actor, 'OWNER_CREDENTIAL_ACCESS', { serviceName }));
          return ownerCredentialUrl(link, actor, serviceName, jkt);
        });
      },
    }),
  ];
}

/**
 * Only an admin's ticket may replace a secret.
 *
 * @param asked undefined: any version
 * @throws ApiError FORBIDDEN
 */
function versionToReplace({ role }: Actor, asked: number | undefined): number | undefined {
  if (role === 'admin') return asked;
  if (asked !== undefined && asked !== 0)
    throw new ApiError('FORBIDDEN', 'Only an admin of the account can replace a secret.');
  return 0;
}
