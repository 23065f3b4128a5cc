import { z } from 'zod';
import { TOKEN_TYPES, tokenMetadataSchema } from '@svault/shared/schemas';
import type { TokenMetadata } from '../../../core/token.ts';
import { REMOVALS, type WebhookToken } from '../../../webhook/token-metadata.ts';
import { lineSchema, serviceNameSchema, textSchema, timeSchema, uniqueList } from './fields.ts';

const editable = {
  displayName: lineSchema(200).optional(),
  description: textSchema(1_000).optional(),
  notes: textSchema(10_000).optional(),
  tags: uniqueList(lineSchema(50), 20).optional(),
};

export const tokenSchema = z
  .object({
    serviceName: z.string(),
    tokenType: z.enum(TOKEN_TYPES),
    displayName: z.string(),
    description: z.string(),
    notes: z.string(),
    tags: z.array(z.string()),
    folderIds: z.array(z.string()),
    createdAt: timeSchema,
    updatedAt: timeSchema,
    upstreamRejectedAt: timeSchema.optional().meta({
      description:
        'Since when an upstream of a proxy answers 401 to it; absent after a success, or once it is stored anew',
    }),
    webhook: tokenMetadataSchema
      .optional()
      .meta({ description: 'What the webhook holds; absent when it holds none or does not answer at once' }),
  })
  .meta({ id: 'Token' });

export const newTokenSchema = z
  .strictObject({ serviceName: serviceNameSchema, tokenType: z.enum(TOKEN_TYPES), ...editable })
  .meta({
    id: 'NewToken',
    description: 'What the token is called. The secret goes to the webhook, with the ticket in the answer.',
  });

export const tokenChangesSchema = z.strictObject(editable).meta({ id: 'TokenChanges' });

export const storeTicketRequestSchema = z.strictObject({
  ifv: z.int().min(0).optional().meta({
    description: 'The version that may be replaced, 0 for none; a member can say 0 only, and need not',
  }),
});

export const storeAddressSchema = z
  .object({
    url: z.string().meta({ description: 'Where to POST the secret; never to this service' }),
    ticket: z.string().meta({ description: 'For Authorization: Bearer; works once' }),
    expiresAt: timeSchema,
  })
  .meta({ id: 'StoreAddress' });

export const tokenWithStoreSchema = z.object({ token: tokenSchema, store: storeAddressSchema });

export const tokenRemovalSchema = z
  .object({
    serviceName: z.string(),
    webhook: z.enum(REMOVALS).meta({
      description:
        'What became of the record: deleted (kept there for 7 days), absent, unreachable (delete once more when the ' +
        'webhook is back), or not_bound',
    }),
  })
  .meta({ id: 'TokenRemoval' });

/** What is shown of a token beside its metadata. */
export interface TokenSurroundings {
  readonly folderIds?: readonly string[] | undefined;
  readonly webhook?: WebhookToken | undefined;
}

export function toTokenView(
  { vaultId: _own, tags, upstreamRejectedAt, ...token }: TokenMetadata,
  { folderIds = [], webhook }: TokenSurroundings = {},
): z.output<typeof tokenSchema> {
  return {
    ...token,
    tags: [...tags],
    folderIds: [...folderIds],
    ...(isStillRejected(upstreamRejectedAt, webhook) && { upstreamRejectedAt }),
    ...(webhook !== undefined && { webhook }),
  };
}

/** What was stored since then has not been shown to anybody. */
const isStillRejected = (at: string | undefined, webhook: WebhookToken | undefined): boolean =>
  at !== undefined && (webhook === undefined || Date.parse(webhook.updatedAt) <= Date.parse(at));
