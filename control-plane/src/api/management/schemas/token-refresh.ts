import { z } from 'zod';
import { timeSchema } from './fields.ts';

export const tokenRefreshSchema = z
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
  })
  .meta({ id: 'TokenRefresh' });
