import type { z } from 'zod';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { refusal } from '../../core/errors.ts';
import type { RefreshResult, TokenRefresh } from '../../refresh/refresh-result.ts';
import { tokenOf } from '../../management/tokens.ts';
import { boundWebhookOf } from '../../webhook/tickets.ts';
import { asRefusal } from '../../webhook/call-failed.ts';
import { serviceNameParams } from './schemas/fields.ts';
import { tokenRefreshSchema } from './schemas/token-refresh.ts';

/** A token refreshed because its owner says so. */
export function createTokenRefreshRoutes({
  tokenRefresh,
}: {
  readonly tokenRefresh: TokenRefresh;
}): readonly ManagementRoute[] {
  return [
    defineRoute({
      tag: 'Tokens',
      method: 'post',
      path: '/api/tokens/{serviceName}/refresh',
      operation: 'refreshToken',
      summary: 'Have a token refreshed at its provider; the webhook does it, and no token comes here',
      role: 'admin',
      whenLocked: 'refused',
      audit: ['TOKEN_REFRESHED'],
      params: serviceNameParams,
      answer: { status: 200, schema: tokenRefreshSchema },
      refusals: ['RATE_LIMITED', 'WEBHOOK_NOT_CONFIGURED', 'WEBHOOK_REFUSED', 'WEBHOOK_UNAVAILABLE'],
      handle: async ({ actor, transaction, params: { serviceName } }) => {
        // The event comes behind the webhook's answer; whether it may be asked at all is settled here.
        await transaction(async (inside) => {
          await tokenOf(inside, actor, serviceName);
          await boundWebhookOf(inside, actor.vaultId);
        });
        const why = { reason: 'manual', userId: actor.userId } as const;
        return toAnswer(await tokenRefresh.refresh(actor.vaultId, serviceName, why));
      },
    }),
  ];
}

/** @throws AppError RATE_LIMITED, WEBHOOK_REFUSED, WEBHOOK_UNAVAILABLE */
function toAnswer(result: RefreshResult): z.output<typeof tokenRefreshSchema> {
  switch (result.outcome) {
    case 'limited':
    case 'busy':
      throw refusal('RATE_LIMITED', 'This token was refreshed too often, or is being refreshed. Try later.', {
        details: { retryAfter: result.retryAfterSeconds },
        reason: result.outcome,
      });
    case 'webhook_unavailable':
      throw result.cause === undefined
        ? refusal(
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
