import { type Clock, formatTime, parseTime } from '@svault/shared';
import { z } from 'zod';
import { type Policy, type PolicyTarget, TARGET_TYPES } from '../../core/policy.ts';
import { ownOf } from '../../core/change.ts';
import type { Stores } from '../../core/stores.ts';
import {
  attachPolicy,
  createPolicy,
  deletePolicy,
  detachPolicy,
  simulate,
  updatePolicy,
} from '../../management/policies.ts';
import type { ExplainingEvaluator } from '../../policies/evaluate.ts';
import { ruleSchema, rulesSchema } from '../../policies/rules.ts';
import { idParams, lineSchema, pageQuery, pageRequest, pageSchema, timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { imaginedRequestSchema, simulationSchema, toCaller, toSimulationView } from './policy-simulation.ts';

const nameSchema = lineSchema(100);

export const policySchema = z
  .object({
    id: z.string().meta({ examples: ['pol_…'] }),
    name: z.string(),
    enabled: z.boolean(),
    rules: z.array(ruleSchema),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'Policy' });

const newPolicySchema = z
  .strictObject({ name: nameSchema, enabled: z.boolean().optional(), rules: rulesSchema })
  .meta({ id: 'NewPolicy', description: 'enabled: true unless it says otherwise. All rules must allow.' });

const policyChangesSchema = z
  .strictObject({
    name: nameSchema.optional(),
    enabled: z.boolean().optional(),
    rules: rulesSchema
      .optional()
      .meta({ description: 'All of them; the n-th rule of a type keeps what it has counted' }),
  })
  .meta({ id: 'PolicyChanges' });

const targetMembers = {
  targetType: z.enum(TARGET_TYPES),
  targetId: z.string().max(200).meta({ description: 'An agent’s or proxy’s id, or a token’s service name' }),
};

export const attachmentSchema = z.strictObject(targetMembers).meta({ id: 'PolicyAttachment' });

const policyQuery = z
  .strictObject({
    ...pageQuery,
    targetType: targetMembers.targetType.optional(),
    targetId: targetMembers.targetId.optional(),
  })
  .refine(({ targetType, targetId }) => (targetType === undefined) === (targetId === undefined), {
    path: ['targetId'],
    message: 'goes with targetType, and neither alone',
  });

const toTarget = ({ targetType: type, targetId: id }: z.output<typeof attachmentSchema>): PolicyTarget => ({
  type,
  id,
});

export const toAttachmentView = ({ type, id }: PolicyTarget): z.output<typeof attachmentSchema> => ({
  targetType: type,
  targetId: id,
});

/** Without the ids of rules, which are the service's own: what was read can be sent back changed. */
export function toPolicyView({ vaultId: _own, rules, ...shown }: Policy): z.output<typeof policySchema> {
  return {
    ...shown,
    rules: rules.map(({ id: _id, ...settings }) => settings as z.output<typeof ruleSchema>),
  };
}

export function createPolicyRoutes({
  clock,
  policies,
  stores,
}: {
  readonly clock: Clock;
  readonly policies: ExplainingEvaluator;
  readonly stores: Pick<Stores, 'agents' | 'policies' | 'proxies' | 'tokens'>;
}): readonly ManagementRoute[] {
  const shared = { tag: 'Policies', role: 'member' } as const;
  const byId = { ...shared, path: '/api/policies/{id}', params: idParams } as const;
  const attachments = { ...shared, path: '/api/policies/{id}/attachments', params: idParams } as const;
  const policy = { status: 200, schema: policySchema } as const;
  return [
    // Before the routes of one policy, whose path this one would fit.
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/policies/simulate',
      operation: 'simulatePolicies',
      summary: 'What the policies would say to a request; counts nothing',
      whenLocked: 'allowed',
      audit: [],
      body: imaginedRequestSchema,
      response: { status: 200, schema: simulationSchema },
      errors: ['CONFLICT', 'NOT_FOUND'],
      handle: async ({ actor, body }) => {
        const { serviceName, ip } = body;
        const atMs = body.at === undefined ? clock.now() : (parseTime(body.at) ?? clock.now());
        const request = { caller: toCaller(body), serviceName, atMs, ip };
        return toSimulationView(await simulate(stores, policies, actor, request), {
          at: formatTime(atMs),
          ip,
        });
      },
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/policies',
      operation: 'createPolicy',
      summary: 'Create a policy, attached to nothing yet',
      whenLocked: 'denied',
      audit: ['POLICY_CREATED'],
      body: newPolicySchema,
      response: { status: 201, schema: policySchema },
      handle: async ({ body, transaction }) =>
        toPolicyView(await transaction((inside) => createPolicy(inside, body, clock))),
    }),
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/policies',
      operation: 'listPolicies',
      summary: 'List policies, oldest first; only those of one target where it is named',
      whenLocked: 'allowed',
      audit: [],
      query: policyQuery,
      response: { status: 200, schema: pageSchema(policySchema) },
      handle: async ({ actor, query }) => {
        const { targetType: type, targetId: id } = query;
        const target = type === undefined || id === undefined ? undefined : { type, id };
        const page = await stores.policies.list(actor.vaultId, target, pageRequest(query, 2));
        return { ...page, items: page.items.map(toPolicyView) };
      },
    }),
    defineRoute({
      ...byId,
      method: 'get',
      operation: 'getPolicy',
      summary: 'Read a policy',
      whenLocked: 'allowed',
      audit: [],
      response: policy,
      handle: async ({ actor, params }) => toPolicyView(await ownOf(stores.policies, actor, params.id)),
    }),
    defineRoute({
      ...byId,
      method: 'patch',
      operation: 'updatePolicy',
      summary: 'Change a policy; members left out stay',
      whenLocked: 'denied',
      audit: ['POLICY_UPDATED'],
      body: policyChangesSchema,
      response: policy,
      handle: async ({ body, transaction, params }) =>
        toPolicyView(await transaction((inside) => updatePolicy(inside, params.id, body, clock))),
    }),
    defineRoute({
      ...byId,
      method: 'delete',
      operation: 'deletePolicy',
      summary: 'Delete a policy with its attachments and counts',
      whenLocked: 'denied',
      audit: ['POLICY_DELETED'],
      response: { status: 204 },
      handle: ({ transaction, params }) => transaction((inside) => deletePolicy(inside, params.id)),
    }),
    defineRoute({
      ...attachments,
      method: 'get',
      operation: 'listPolicyAttachments',
      summary: 'List what a policy is attached to',
      whenLocked: 'allowed',
      audit: [],
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: pageSchema(attachmentSchema) },
      handle: async ({ actor, params, query }) => {
        const { id } = await ownOf(stores.policies, actor, params.id);
        const page = await stores.policies.attachments(id, pageRequest(query, 2));
        return { ...page, items: page.items.map(toAttachmentView) };
      },
    }),
    defineRoute({
      ...attachments,
      method: 'post',
      operation: 'attachPolicy',
      summary: 'Attach a policy to an agent, a proxy or a token',
      whenLocked: 'denied',
      audit: ['POLICY_ATTACHED'],
      body: attachmentSchema,
      response: { status: 201, schema: attachmentSchema },
      errors: ['CONFLICT'],
      handle: async ({ body, transaction, params }) => {
        await transaction((inside) => attachPolicy(inside, params.id, toTarget(body)));
        return body;
      },
    }),
    defineRoute({
      ...attachments,
      method: 'delete',
      operation: 'detachPolicy',
      summary: 'Take a policy off a target, and forget what it counted there',
      whenLocked: 'denied',
      audit: ['POLICY_DETACHED'],
      body: attachmentSchema,
      response: { status: 204 },
      handle: ({ body, transaction, params }) =>
        transaction((inside) => detachPolicy(inside, params.id, toTarget(body))),
    }),
  ];
}
