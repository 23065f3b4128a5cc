import { thumbprintSchema } from '@svault/shared/schemas';
import { z } from 'zod';
import { ownOf } from '../../core/change.ts';
import { type Actor, eventBy } from '../../core/actor.ts';
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
    params: serviceNameParams,
    errors: ['NOT_FOUND', 'WEBHOOK_NOT_CONFIGURED'],
  } as const;
  return [
    defineRoute('POST /api/tokens/{serviceName}/store-ticket', {
      ...shared,
      operation: 'createStoreTicket',
      summary: 'Get a ticket to store the secret at the webhook; a member can fill a token, not replace one',
      role: 'member',
      body: storeTicketRequestSchema,
      response: { status: 200, schema: storeAddressSchema },
      change: async (inside, { actor, body: { ifv }, params: { serviceName } }) => {
        await ownOf(inside.tokens, actor, serviceName);
        return storeTickets.issue(inside, actor, serviceName, versionToReplace(actor, ifv));
      },
    }),
    defineRoute('POST /api/tokens/{serviceName}/credential-ticket', {
      ...shared,
      operation: 'createCredentialTicket',
      summary: 'Get an address that gives the credential once',
      role: 'admin',
      body: credentialTicketRequestSchema,
      response: { status: 200, schema: credentialTicketSchema },
      change: async (inside, { actor, body: { jkt }, params: { serviceName } }) => {
        await ownOf(inside.tokens, actor, serviceName);
        const link = await boundWebhookOf(inside, actor.vaultId);
        await inside.audit.append(eventBy(actor, 'OWNER_CREDENTIAL_ACCESS', { serviceName }));
        return tickets.ownerCredentialUrl(link, actor.userId, serviceName, jkt);
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
