import { type Clock, formatTime } from '@svault/shared';
import { z } from 'zod';
import { type Grant, REFRESH_POLICIES, isExpired } from '../../core/grant.ts';
import { ownOf } from '../../core/change.ts';
import type { Stores } from '../../core/stores.ts';
import {
  MAX_GRANT_SECONDS,
  MIN_GRANT_SECONDS,
  createGrant,
  createGrantsFromFolder,
  revokeGrant,
} from '../../management/grants.ts';
import {
  idParams,
  isTime,
  pageQuery,
  pageRequest,
  pageSchema,
  serviceNameParams,
  serviceNameSchema,
  timeSchema,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

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
const grantedSchema = z.union([
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

const newGrantSchema = z
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

export function createGrantRoutes({
  clock,
  stores,
}: {
  readonly clock: Clock;
  readonly stores: Pick<Stores, 'agents' | 'grants'>;
}): readonly ManagementRoute[] {
  const shared = { tag: 'Grants', role: 'member' } as const;
  return [
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/agents/{id}/grants',
      operation: 'listGrants',
      summary: 'List the grants of an agent by service name, expired ones too',
      whenLocked: 'allowed',
      audit: [],
      params: idParams,
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: pageSchema(grantSchema) },
      handle: async ({ actor, params, query }) => {
        const agent = await ownOf(stores.agents, actor, params.id);
        const page = await stores.grants.list(actor.vaultId, agent.id, pageRequest(query, 1));
        const now = formatTime(clock.now());
        return { ...page, items: page.items.map((grant) => toGrantView(grant, now)) };
      },
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/agents/{id}/grants',
      operation: 'createGrant',
      summary: 'Let an agent have a credential, or each of those that are in a folder now',
      whenLocked: 'denied',
      audit: ['GRANT_CREATED', 'GRANT_EXPIRED'],
      params: idParams,
      body: newGrantSchema,
      response: { status: 201, schema: grantedSchema },
      errors: ['CONFLICT'],
      handle: async ({ body, transaction, params: { id } }) => {
        const { serviceName, folderId, ...terms } = body;
        if (serviceName !== undefined) {
          const grant = await transaction((inside) =>
            createGrant(inside, id, { ...terms, serviceName }, clock),
          );
          return toGrantView(grant, grant.createdAt);
        }
        const { grants, skipped } = await transaction((inside) =>
          createGrantsFromFolder(inside, id, { ...terms, folderId: folderId ?? '' }, clock),
        );
        return { grants: grants.map((grant) => toGrantView(grant, grant.createdAt)), skipped: [...skipped] };
      },
    }),
    defineRoute({
      ...shared,
      method: 'delete',
      path: '/api/agents/{id}/grants/{serviceName}',
      operation: 'revokeGrant',
      summary: 'Take a credential away from an agent',
      whenLocked: 'denied',
      audit: ['GRANT_REVOKED'],
      params: idParams.extend(serviceNameParams.shape),
      response: { status: 204 },
      handle: ({ transaction, params }) =>
        transaction((inside) => revokeGrant(inside, params.id, params.serviceName)),
    }),
  ];
}
