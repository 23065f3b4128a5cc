import { z } from 'zod';
import { type Clock, formatTime } from '@svault/shared';
import { agentOf } from '../../management/manage-agents.ts';
import { createGrant, createGrantsFromFolder, revokeGrant } from '../../management/manage-grants.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { Stores } from '../../core/stores.ts';
import { idParams, serviceNameParams } from './schemas/fields.ts';
import { pageQuery, pageRequest, pageSchema } from './schemas/pages.ts';
import { grantSchema, grantedSchema, newGrantSchema, toGrantView } from './schemas/grants.ts';

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
      whenLocked: 'answers',
      audit: [],
      params: idParams,
      query: z.strictObject(pageQuery),
      answer: { status: 200, schema: pageSchema(grantSchema) },
      handle: async ({ actor, params, query }) => {
        const agent = await agentOf(stores, actor, params.id);
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
      whenLocked: 'refused',
      audit: ['GRANT_CREATED', 'GRANT_EXPIRED'],
      params: idParams,
      body: newGrantSchema,
      answer: { status: 201, schema: grantedSchema },
      refusals: ['CONFLICT'],
      handle: async ({ actor, body, transaction, params: { id } }) => {
        const { serviceName, folderId, ...terms } = body;
        if (serviceName !== undefined) {
          const grant = await transaction((inside) =>
            createGrant(inside, actor, id, { ...terms, serviceName }, clock),
          );
          return toGrantView(grant, grant.createdAt);
        }
        const { grants, skipped } = await transaction((inside) =>
          createGrantsFromFolder(inside, actor, id, { ...terms, folderId: folderId ?? '' }, clock),
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
      whenLocked: 'refused',
      audit: ['GRANT_REVOKED'],
      params: idParams.extend(serviceNameParams.shape),
      answer: { status: 204 },
      handle: ({ actor, transaction, params }) =>
        transaction((inside) => revokeGrant(inside, actor, params.id, params.serviceName)),
    }),
  ];
}
