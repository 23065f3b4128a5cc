import { z } from 'zod';
import { MAX_GRANT_SECONDS, MIN_GRANT_SECONDS } from '../../../management/expiry.ts';
import { type Grant, REFRESH_POLICIES, isExpired } from '../../../core/grant.ts';
import { isTime, serviceNameSchema, timeSchema } from './fields.ts';

export const grantSchema = z
  .object({
    id: z.string().meta({ examples: ['grt_…'] }),
    agentId: z.string(),
    serviceName: z.string(),
    status: z.enum(['active', 'expired']),
    grantExpiresAt: timeSchema.nullable().meta({ description: 'null: until revoked' }),
    refreshPolicy: z.enum(REFRESH_POLICIES),
    sourceGroupId: z.string().nullable(),
    createdAt: timeSchema,
  })
  .meta({ id: 'Grant' });

/** One grant, or those that were made from a folder. */
export const grantedSchema = z.union([
  grantSchema,
  z
    .object({
      grants: z.array(grantSchema),
      skipped: z
        .array(z.string())
        .meta({ description: 'Service names that the agent has a live grant for; those grants stay' }),
    })
    .meta({ id: 'FolderGrants' }),
]);

export const newGrantSchema = z
  .strictObject({
    serviceName: serviceNameSchema.optional(),
    folderId: z
      .string()
      .max(128)
      .optional()
      .meta({ description: 'A grant for each token that is in this folder now', examples: ['fld_…'] }),
    expiresInSeconds: z.int().min(MIN_GRANT_SECONDS).max(MAX_GRANT_SECONDS).optional(),
    grantExpiresAt: z.string().refine(isTime, 'must be an ISO 8601 time in UTC').nullable().optional(),
    refreshPolicy: z.enum(REFRESH_POLICIES).optional(),
  })
  .superRefine(({ serviceName, folderId }, context) => {
    if (serviceName === undefined && folderId === undefined)
      context.addIssue({ code: 'custom', path: ['serviceName'], message: 'give this or folderId' });
    if (serviceName !== undefined && folderId !== undefined)
      context.addIssue({ code: 'custom', path: ['folderId'], message: 'give this or serviceName, not both' });
  })
  .meta({
    id: 'NewGrant',
    description:
      'For one service or one folder. Ends after expiresInSeconds or at grantExpiresAt, 1 hour to 30 days from now; or with neither.',
  });

/** @param now in the written form */
export function toGrantView(grant: Grant, now: string): z.output<typeof grantSchema> {
  const { vaultId: _own, grantExpiresAt, sourceGroupId, ...shown } = grant;
  return {
    ...shown,
    status: isExpired(grant, now) ? 'expired' : 'active',
    grantExpiresAt: grantExpiresAt ?? null,
    sourceGroupId: sourceGroupId ?? null,
  };
}
