import * as z from 'zod';
import { ownOf } from '../../core/change.ts';
import { ApiError } from '../../core/errors.ts';
import type { RefreshResult } from '../../refresh/refresh-result.ts';
import { asRefusal } from '../../webhook/call-failed.ts';
import { boundWebhookOf } from '../../webhook/tickets.ts';
import type { ManagementDependencies } from './dependencies.ts';
import { serviceNameParams, timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const tokenRefreshSchema = z
  .object({
    outcome: z
      .enum([
        'refreshed',
        'accepted',
        'failed',
        'not_refreshable',
        'provider_not_configured',
        'reauth_needed',
      ])
      .meta({
        description:
          'accepted: the webhook sees to it; failed: try again later; not_refreshable: it has no provider or no refresh ' +
          'token; provider_not_configured: no provider of the account has its token URL and client id; reauth_needed: ' +
          'the owner has to authorise anew, and store what comes of it',
      }),
    expiryTime: timeSchema.optional().meta({ description: 'Of the new one, where it has one' }),
    providerReason: z
      .string()
      .optional()
      .meta({
        description: 'What the provider said where it gave nothing: status, code and a line of text',
        examples: ['status 401, invalid_client: Client authentication failed'],
      }),
  })
  .meta({ id: 'TokenRefresh' });

/** Refreshes a token on its owner's request. */
export function createTokenRefreshRoutes({
  tokenRefresh,
}: Pick<ManagementDependencies, 'tokenRefresh'>): ManagementRoute[] {
  return [
    defineRoute('POST /api/tokens/{serviceName}/refresh', {
      tag: 'Tokens',
      operation: 'refreshToken',
      summary: 'Have a token refreshed at its provider; the webhook does it, and no token comes here',
      role: 'admin',
      params: serviceNameParams,
      response: { status: 200, schema: tokenRefreshSchema },
      errors: ['RATE_LIMITED', 'WEBHOOK_NOT_CONFIGURED', 'WEBHOOK_REFUSED', 'WEBHOOK_UNAVAILABLE'],
      handle: async ({ actor, transaction, params: { serviceName } }) => {
        // The event follows the webhook's response; this transaction decides whether it may be called.
        await transaction(async (inside) => {
          await ownOf(inside.tokens, actor, serviceName);
          await boundWebhookOf(inside, actor.vaultId);
        });
        const why = { reason: 'manual', userId: actor.userId, origin: actor.origin } as const;
        return toResponse(await tokenRefresh.refresh(actor.vaultId, serviceName, why));
      },
    }),
  ];
}

/** @throws ApiError RATE_LIMITED, WEBHOOK_REFUSED, WEBHOOK_UNAVAILABLE */
function toResponse(result: RefreshResult): z.output<typeof tokenRefreshSchema> {
  switch (result.outcome) {
    case 'limited':
    case 'busy':
      throw new ApiError(
        'RATE_LIMITED',
        'This token was refreshed too often, or is being refreshed. Try later.',
        {
          details: { retryAfter: result.retryAfterSeconds },
          reason: result.outcome,
        },
      );
    case 'webhook_unavailable':
      throw result.cause === undefined
        ? new ApiError(
            'WEBHOOK_REFUSED',
            'The webhook does not offer to refresh tokens. Update it, then try again.',
          )
        : asRefusal(result.cause);
    case 'refreshed':
    case 'accepted':
    case 'failed':
    case 'not_refreshable':
    case 'provider_not_configured':
    case 'reauth_needed':
      return result;
  }
}
