import { thumbprintSchema } from '@svault/shared/schemas';
import { z } from 'zod';
import { type Actor, eventBy } from '../../core/actor.ts';
import { ownOf } from '../../core/change.ts';
import { ApiError } from '../../core/errors.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { type StoreTickets, type Tickets, boundWebhookOf } from '../../webhook/tickets.ts';
import { serviceNameParams, timeSchema } from './fields.ts';
import { storeAddressSchema } from './tokens.ts';

const credentialTicketRequestSchema = z.strictObject({
  jkt: thumbprintSchema.optional().meta({ description: "Thumbprint of a sealed record's recipient" }),
});

const credentialTicketSchema = z.object({
  url: z.string().meta({ description: 'Works once' }),
  expiresAt: timeSchema,
});

const storeTicketRequestSchema = z.strictObject({
  ifv: z.int().min(0).optional().meta({
    description: 'The version that may be replaced, 0 for none; a member can say 0 only, and need not',
  }),
});

/** Tickets for owners: the secret goes between them and the webhook, past this service. */
export function createTokenTicketRoutes({
  storeTickets,
  tickets,
}: {
  readonly storeTickets: StoreTickets;
  readonly tickets: Pick<Tickets, 'ownerCredentialUrl'>;
}): readonly ManagementRoute[] {
  const shared = {
    tag: 'Tokens',
    method: 'post',
    whenLocked: 'denied',
    params: serviceNameParams,
    errors: ['NOT_FOUND', 'WEBHOOK_NOT_CONFIGURED'],
  } as const;
  return [
    defineRoute({
      ...shared,
      path: '/api/tokens/{serviceName}/store-ticket',
      operation: 'createStoreTicket',
      summary: 'Get a ticket to store the secret at the webhook; a member can fill a token, not replace one',
      role: 'member',
      audit: ['TOKEN_STORE_TICKET'],
      body: storeTicketRequestSchema,
      response: { status: 200, schema: storeAddressSchema },
      handle: async ({ actor, body: { ifv }, transaction, params: { serviceName } }) =>
        transaction(async (stores) => {
          await ownOf(stores.tokens, actor, serviceName);
          return storeTickets.issue(stores, actor, serviceName, versionToReplace(actor, ifv));
        }),
    }),
    defineRoute({
      ...shared,
      path: '/api/tokens/{serviceName}/credential-ticket',
      operation: 'createCredentialTicket',
      summary: 'Get an address that gives the credential once',
      role: 'admin',
      audit: ['OWNER_CREDENTIAL_ACCESS'],
      body: credentialTicketRequestSchema,
      response: { status: 200, schema: credentialTicketSchema },
      handle: async ({ actor, body: { jkt }, transaction, params: { serviceName } }) =>
        transaction(async (stores) => {
          await ownOf(stores.tokens, actor, serviceName);
          const link = await boundWebhookOf(stores, actor.vaultId);
          await stores.audit.append(eventBy(actor, 'OWNER_CREDENTIAL_ACCESS', { serviceName }));
          return tickets.ownerCredentialUrl(link, actor.userId, serviceName, jkt);
        }),
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
