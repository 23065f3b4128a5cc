import { TOKEN_TYPES, tokenMetadataSchema } from '@svault/shared/schemas';
import * as z from 'zod';
import type { RefreshAttempt } from '../../core/refresh-attempt.ts';
import type { TokenMetadata } from '../../core/token.ts';
import type { WebhookToken } from '../../webhook/token-metadata.ts';
import { grantCountSchema, timeSchema } from './fields.ts';

/** A token as every operation shows it. */
export const tokenSchema = z
  .object({
    serviceName: z.string(),
    tokenType: z.enum(TOKEN_TYPES),
    displayName: z.string(),
    description: z.string(),
    notes: z.string(),
    tags: z.array(z.string()),
    folderIds: z.array(z.string()),
    grants: grantCountSchema.optional(),
    createdAt: timeSchema,
    updatedAt: timeSchema,
    upstreamRejectedAt: timeSchema.optional().meta({
      description:
        'Since when an upstream of a proxy answers 401 to it; absent after a success, or once it is stored anew',
    }),
    refresh: z
      .object({ failures: z.int(), nextAt: timeSchema })
      .optional()
      .meta({ description: 'Scheduled refreshes that failed in a row, and when the next one is tried' }),
    webhook: tokenMetadataSchema
      .optional()
      .meta({ description: 'What the webhook holds; absent when it holds none or does not answer at once' }),
  })
  .meta({ id: 'Token' });

/** The members of a token's view that are not its metadata. */
interface TokenSurroundings {
  readonly folderIds?: readonly string[] | undefined;
  readonly grants?: number | undefined;
  readonly refresh?: RefreshAttempt | undefined;
  readonly webhook?: WebhookToken | undefined;
}

export function toTokenView(
  { upstreamRejectedAt, ...token }: TokenMetadata,
  { folderIds = [], grants, refresh, webhook }: TokenSurroundings = {},
): z.output<typeof tokenSchema> {
  return {
    ...token,
    tags: [...token.tags],
    folderIds: [...folderIds],
    grants,
    ...(isStillRejected(upstreamRejectedAt, webhook) && { upstreamRejectedAt }),
    ...(isStillFailing(refresh, webhook) && {
      refresh: { failures: refresh.failures, nextAt: refresh.nextAt },
    }),
    webhook,
  };
}

/** A newer version was refreshed, or stored anew. */
const isStillFailing = (
  attempt: RefreshAttempt | undefined,
  webhook: WebhookToken | undefined,
): attempt is RefreshAttempt =>
  attempt !== undefined && attempt.failures > 0 && (webhook?.version ?? 0) <= attempt.version;

/** A credential stored since the rejection has not been presented yet. */
const isStillRejected = (at: string | undefined, webhook: WebhookToken | undefined): boolean =>
  at !== undefined && (webhook === undefined || Date.parse(webhook.updatedAt) <= Date.parse(at));
