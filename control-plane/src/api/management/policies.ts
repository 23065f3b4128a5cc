import { formatTime, parseTime } from '@svault/shared';
import * as z from 'zod';
import { ownOf } from '../../core/change.ts';
import { type Policy, type PolicyTarget, TARGET_TYPES, type TargetType } from '../../core/policy.ts';
import {
  attachPolicy,
  createPolicy,
  deletePolicy,
  detachPolicy,
  simulate,
  updatePolicy,
} from '../../management/policies.ts';
import { ruleSchema, rulesSchema } from '../../policies/rules.ts';
import type { Needs } from './dependencies.ts';
import {
  idParams,
  idSchema,
  lineSchema,
  namedPageQuery,
  namedPageRequest,
  pageQuery,
  pageRequest,
  pageSchema,
  serviceNameSchema,
  timeSchema,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { imaginedRequestSchema, simulationSchema, toCaller, toSimulationView } from './policy-simulation.ts';

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

export const newPolicySchema = z
  .strictObject({ name: lineSchema(100), enabled: z.boolean().optional(), rules: rulesSchema })
  .meta({ id: 'NewPolicy', description: 'enabled: true unless it says otherwise. All rules must allow.' });

const policyChangesSchema = newPolicySchema
  .partial()
  .extend({
    rules: rulesSchema
      .optional()
      .meta({ description: 'All of them; the n-th rule of a type keeps what it has counted' }),
  })
  .meta({ id: 'PolicyChanges' });

const targetMembers = {
  targetType: z.enum(TARGET_TYPES),
  targetId: z.string().meta({ description: 'An agent’s or proxy’s id, or a token’s service name' }),
};

/** Of each policy of a page. */
const ATTACHMENTS_COUNTED_UP_TO = 1_000;

const TARGET_IDS = { agent: idSchema('agt'), proxy: idSchema('prx'), token: serviceNameSchema };

/** Whether a target's id has the form of what it is to name. */
const checkTargetId = (
  {
    targetType,
    targetId,
  }: { readonly targetType?: TargetType | undefined; readonly targetId?: string | undefined },
  context: z.core.$RefinementCtx,
): void => {
  if (targetType === undefined || targetId === undefined) return;
  for (const { message } of TARGET_IDS[targetType].safeParse(targetId).error?.issues ?? [])
    context.addIssue({ code: 'custom', path: ['targetId'], message });
};

export const attachmentSchema = z
  .strictObject(targetMembers)
  .superRefine(checkTargetId)
  .meta({ id: 'PolicyAttachment' });

const policyQuery = z
  .strictObject({
    ...namedPageQuery,
    targetType: targetMembers.targetType.optional(),
    targetId: targetMembers.targetId.optional(),
  })
  .refine(({ targetType, targetId }) => (targetType === undefined) === (targetId === undefined), {
    path: ['targetId'],
    message: 'goes with targetType, and neither alone',
  })
  .superRefine(checkTargetId);

export const toTarget = ({
  targetType: type,
  targetId: id,
}: z.output<typeof attachmentSchema>): PolicyTarget => ({
  type,
  id,
});

export const toAttachmentView = ({ type, id }: PolicyTarget): z.output<typeof attachmentSchema> => ({
  targetType: type,
  targetId: id,
});

const listedPolicySchema = policySchema
  .extend({
    attachments: z.int().meta({
      description: `What it is attached to, counted up to ${ATTACHMENTS_COUNTED_UP_TO}, which stands for itself or more`,
    }),
  })
  .meta({ id: 'ListedPolicy' });

const listedAttachmentSchema = z
  .object({
    ...targetMembers,
    targetName: z.string().optional().meta({ description: 'The name of the agent or proxy now' }),
  })
  .meta({ id: 'ListedPolicyAttachment' });

/** Without the ids of rules, which are the service's own: what was read can be sent back changed. */
export const toPolicyView = (policy: Policy): z.output<typeof policySchema> => ({
  ...policy,
  rules: policy.rules.map(({ id: _id, ...settings }) => settings as z.output<typeof ruleSchema>),
});

export function createPolicyRoutes({
  clock,
  policies,
  stores,
}: Needs<'clock' | 'policies', 'agents' | 'names' | 'policies' | 'proxies' | 'tokens'>): ManagementRoute[] {
  const shared = { tag: 'Policies', role: 'member' } as const;
  const byId = { ...shared, params: idParams('pol') } as const;
  const policy = { status: 200, schema: policySchema } as const;
  return [
    // Before the routes of one policy, whose path this one would fit.
    defineRoute('POST /api/policies/simulate', {
      ...shared,
      operation: 'simulatePolicies',
      summary: 'What the policies would say to a request; counts nothing',
      whenLocked: 'allowed',
      limit: 'management_write',
      body: imaginedRequestSchema,
      response: { status: 200, schema: simulationSchema },
      errors: ['CONFLICT', 'NOT_FOUND'],
      handle: async ({ actor, body }) => {
        const { serviceName, ip, call } = body;
        const atMs = body.at === undefined ? clock.now() : (parseTime(body.at) ?? clock.now());
        const request = { caller: toCaller(body), serviceName, atMs, ip, call };
        return toSimulationView(await simulate(stores, policies, actor, request), {
          at: formatTime(atMs),
          ip,
        });
      },
    }),
    defineRoute('POST /api/policies', {
      ...shared,
      operation: 'createPolicy',
      summary: 'Create a policy, attached to nothing yet',
      body: newPolicySchema,
      response: { status: 201, schema: policySchema },
      change: async (inside, { body }) => toPolicyView(await createPolicy(inside, body, clock)),
    }),
    defineRoute('GET /api/policies', {
      ...shared,
      operation: 'listPolicies',
      summary: 'List policies, oldest first; only those of one target where it is named',
      query: policyQuery,
      response: { status: 200, schema: pageSchema(listedPolicySchema) },
      handle: async ({ actor, query }) => {
        const { targetType: type, targetId: id } = query;
        const target = type === undefined || id === undefined ? undefined : { type, id };
        const page = await stores.policies.list(actor.vaultId, target, namedPageRequest(query));
        const counts = await stores.policies.attachmentCounts(
          page.items.map(({ id }) => id),
          ATTACHMENTS_COUNTED_UP_TO,
        );
        const items = page.items.map((each) => ({
          ...toPolicyView(each),
          attachments: counts.get(each.id) ?? 0,
        }));
        return { ...page, items };
      },
    }),
    defineRoute('GET /api/policies/{id}', {
      ...byId,
      operation: 'getPolicy',
      summary: 'Read a policy',
      response: policy,
      handle: async ({ actor, params }) => toPolicyView(await ownOf(stores.policies, actor, params.id)),
    }),
    defineRoute('PATCH /api/policies/{id}', {
      ...byId,
      operation: 'updatePolicy',
      summary: 'Change a policy; members left out stay',
      body: policyChangesSchema,
      response: policy,
      change: async (inside, { body, params }) =>
        toPolicyView(await updatePolicy(inside, params.id, body, clock)),
    }),
    defineRoute('DELETE /api/policies/{id}', {
      ...byId,
      operation: 'deletePolicy',
      summary: 'Delete a policy with its attachments and counts',
      change: (inside, { params }) => deletePolicy(inside, params.id),
    }),
    defineRoute('GET /api/policies/{id}/attachments', {
      ...byId,
      operation: 'listPolicyAttachments',
      summary: 'List what a policy is attached to',
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: pageSchema(listedAttachmentSchema) },
      handle: async ({ actor, params, query }) => {
        const { id } = await ownOf(stores.policies, actor, params.id);
        const page = await stores.policies.attachments(id, pageRequest(query));
        const ids = page.items.flatMap((target) => (target.type === 'token' ? [] : target.id));
        const names = await stores.names.of(actor.vaultId, ids);
        const items = page.items.map((target) => {
          const targetName = names.get(target.id);
          return { ...toAttachmentView(target), ...(targetName !== undefined && { targetName }) };
        });
        return { ...page, items };
      },
    }),
    defineRoute('POST /api/policies/{id}/attachments', {
      ...byId,
      operation: 'attachPolicy',
      summary: 'Attach a policy to an agent, a proxy or a token',
      body: attachmentSchema,
      response: { status: 201, schema: attachmentSchema },
      errors: ['CONFLICT'],
      change: async (inside, { body, params }) => {
        await attachPolicy(inside, params.id, toTarget(body));
        return body;
      },
    }),
    defineRoute('DELETE /api/policies/{id}/attachments', {
      ...byId,
      operation: 'detachPolicy',
      summary: 'Take a policy off a target, and forget what it counted there',
      body: attachmentSchema,
      change: (inside, { body, params }) => detachPolicy(inside, params.id, toTarget(body)),
    }),
  ];
}
