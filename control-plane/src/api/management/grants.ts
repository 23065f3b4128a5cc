import { formatTime } from '@svault/shared';
import * as z from 'zod';
import { ownOf } from '../../core/change.ts';
import { type Grant, REFRESH_POLICIES, isExpired } from '../../core/grant.ts';
import {
  MAX_GRANT_SECONDS,
  MIN_GRANT_SECONDS,
  createGrant,
  createGrantsFromFolder,
  renewGrant,
  revokeGrant,
} from '../../management/grants.ts';
import type { Needs } from './dependencies.ts';
import {
  allowMissingSchema,
  idParams,
  idSchema,
  isTime,
  pageQuery,
  pageRequest,
  pageSchema,
  serviceNameParams,
  serviceNameSchema,
  timeSchema,
  viewOfPage,
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

export const termsMembers = {
  expiresInSeconds: z.int().min(MIN_GRANT_SECONDS).max(MAX_GRANT_SECONDS).optional(),
  grantExpiresAt: z.string().refine(isTime, 'must be an ISO 8601 time in UTC').nullable().optional(),
  refreshPolicy: z.enum(REFRESH_POLICIES).optional(),
};

const newGrantSchema = z
  .strictObject({
    serviceName: serviceNameSchema.optional(),
    folderId: idSchema('fld')
      .optional()
      .meta({ description: 'A grant for each token that is in this folder now' }),
    allowMissing: allowMissingSchema,
    ...termsMembers,
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

const grantRenewalSchema = z.strictObject(termsMembers).meta({
  id: 'GrantRenewal',
  description:
    'Ends after expiresInSeconds or at grantExpiresAt, 1 hour to 30 days from now; null: until revoked. One of them is needed.',
});

/** @param now in the written form */
export const toGrantView = (grant: Grant, now: string): z.output<typeof grantSchema> => ({
  ...grant,
  status: isExpired(grant, now) ? 'expired' : 'active',
  grantExpiresAt: grant.grantExpiresAt ?? null,
  sourceGroupId: grant.sourceGroupId ?? null,
});

export function createGrantRoutes({ clock, stores }: Needs<'clock', 'agents' | 'grants'>): ManagementRoute[] {
  const shared = { tag: 'Grants', role: 'member' } as const;
  const ofService = { ...shared, params: idParams('agt').extend(serviceNameParams.shape) } as const;
  return [
    defineRoute('GET /api/agents/{id}/grants', {
      ...shared,
      operation: 'listGrants',
      summary: 'List the grants of an agent by service name, expired ones too',
      params: idParams('agt'),
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: pageSchema(grantSchema) },
      handle: async ({ actor, params, query }) => {
        const agent = await ownOf(stores.agents, actor, params.id);
        const now = formatTime(clock.now());
        return viewOfPage(stores.grants.list(actor.vaultId, agent.id, pageRequest(query, 1)), (grant) =>
          toGrantView(grant, now),
        );
      },
    }),
    defineRoute('POST /api/agents/{id}/grants', {
      ...shared,
      operation: 'createGrant',
      summary: 'Let an agent have a credential, or each of those that are in a folder now',
      params: idParams('agt'),
      body: newGrantSchema,
      response: { status: 201, schema: grantedSchema },
      errors: ['CONFLICT'],
      change: async (inside, { body, params: { id } }) => {
        const { serviceName, folderId = '', allowMissing, ...terms } = body;
        const toNewView = (grant: Grant) => toGrantView(grant, grant.createdAt);
        if (serviceName !== undefined)
          return toNewView(await createGrant(inside, id, { ...terms, serviceName, allowMissing }, clock));
        const made = await createGrantsFromFolder(inside, id, { ...terms, folderId }, clock);
        return { grants: made.grants.map(toNewView), skipped: [...made.skipped] };
      },
    }),
    defineRoute('POST /api/agents/{id}/grants/{serviceName}/renew', {
      ...ofService,
      operation: 'renewGrant',
      summary: 'Set when a grant ends, from now on; an expired grant is active again',
      body: grantRenewalSchema,
      response: { status: 200, schema: grantSchema },
      errors: ['CONFLICT'],
      change: async (inside, { body, params: { id, serviceName } }) =>
        toGrantView(await renewGrant(inside, id, { ...body, serviceName }, clock), formatTime(clock.now())),
    }),
    defineRoute('DELETE /api/agents/{id}/grants/{serviceName}', {
      ...ofService,
      operation: 'revokeGrant',
      summary: 'Take a credential away from an agent',
      change: (inside, { params }) => revokeGrant(inside, params.id, params.serviceName),
    }),
  ];
}
