import { thumbprintSchema } from '@svault/shared/schemas';
import * as z from 'zod';
import { ownOf } from '../../core/change.ts';
import { AGENT_STATUSES, type Agent } from '../../core/agent.ts';
import { MAX_POLICIES_OF_TARGET, type Policy } from '../../core/policy.ts';
import {
  createAgent,
  deleteAgent,
  existingAgentOf,
  revealAgentKey,
  rotateAgentKey,
  setAgentStatus,
  updateAgent,
} from '../../management/agents.ts';
import type { Needs } from './dependencies.ts';
import {
  grantCountSchema,
  idParams,
  nameSchema,
  namedPageQuery,
  namedPageRequest,
  pageSchema,
  textSchema,
  timeSchema,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

export const agentSchema = z
  .object({
    id: z.string().meta({ examples: ['agt_…'] }),
    name: z.string(),
    description: z.string(),
    status: z.enum(AGENT_STATUSES),
    ownerId: z.string(),
    mcpEnabled: z.boolean(),
    sealingKeyThumbprint: z.string().optional(),
    createdAt: timeSchema,
    lastUsedAt: timeSchema.nullable(),
    keyPrefix: z.string().meta({ description: 'The first characters of its key' }),
  })
  .meta({ id: 'Agent' });

const listedAgentSchema = agentSchema.extend({ grants: grantCountSchema }).meta({ id: 'ListedAgent' });

const agentDetailSchema = agentSchema
  .extend({
    policies: z
      .array(
        z.object({
          id: z.string().meta({ examples: ['pol_…'] }),
          name: z.string(),
          enabled: z.boolean(),
          ruleTypes: z.array(z.string()),
        }),
      )
      .meta({
        description:
          'Attached to the agent itself, oldest first; those of its credentials are not among them',
      }),
  })
  .meta({ id: 'AgentDetail' });

const agentWithKeySchema = z.object({
  agent: agentSchema,
  apiKey: z.string().meta({ description: 'The key, in full; keep it now' }),
});

const apiKeySchema = z.object({ apiKey: z.string() });

const newAgentSchema = z
  .strictObject({
    name: nameSchema('agt'),
    description: textSchema(1_000).optional(),
    mcpEnabled: z.boolean().optional(),
    sealingKeyThumbprint: thumbprintSchema.optional(),
  })
  .meta({ id: 'NewAgent' });

const agentChangesSchema = newAgentSchema
  .partial()
  .extend({ sealingKeyThumbprint: thumbprintSchema.nullable().optional() })
  .meta({ id: 'AgentChanges' });

export const toAgentView = ({ lastUsedAt, ...agent }: Agent): z.output<typeof agentSchema> => ({
  ...agent,
  lastUsedAt: lastUsedAt ?? null,
});

const toPolicySummary = ({ id, name, enabled, rules }: Policy) => ({
  id,
  name,
  enabled,
  ruleTypes: rules.map(({ type }) => type),
});

const toAgentWithKey = ({ agent, apiKey }: { readonly agent: Agent; readonly apiKey: string }) => ({
  agent: toAgentView(agent),
  apiKey,
});

export function createAgentRoutes({
  clock,
  masterKeys,
  stores,
}: Needs<'clock' | 'masterKeys', 'agents' | 'grants' | 'policies'>): ManagementRoute[] {
  const shared = { tag: 'Agents', role: 'member' } as const;
  const byId = { ...shared, params: idParams('agt') } as const;
  const agent = { status: 200, schema: agentSchema } as const;
  return [
    defineRoute('POST /api/agents', {
      ...shared,
      operation: 'createAgent',
      summary: 'Create an agent; its key is in the answer',
      body: newAgentSchema,
      response: { status: 201, schema: agentWithKeySchema },
      errors: ['CONFLICT'],
      change: async (inside, { body }) =>
        toAgentWithKey(await createAgent(inside, body, { clock, masterKeys })),
    }),
    defineRoute('GET /api/agents', {
      ...shared,
      operation: 'listAgents',
      summary: 'List agents, oldest first; deleted ones only when asked for',
      query: z.strictObject({ ...namedPageQuery, status: z.enum(AGENT_STATUSES).optional() }),
      response: { status: 200, schema: pageSchema(listedAgentSchema) },
      handle: async ({ actor: { vaultId }, query }) => {
        const page = await stores.agents.list(vaultId, query.status, namedPageRequest(query));
        const ids = page.items.map(({ id }) => id);
        const counts = await stores.grants.countsOf(vaultId, 'agent', ids);
        const items = page.items.map((each) => ({
          ...toAgentView(each),
          grants: counts.get(each.id) ?? 0,
        }));
        return { ...page, items };
      },
    }),
    defineRoute('GET /api/agents/{id}', {
      ...byId,
      operation: 'getAgent',
      summary: 'Read an agent with its policies, a deleted one too',
      response: { status: 200, schema: agentDetailSchema },
      handle: async ({ actor, params }) => {
        const found = await ownOf(stores.agents, actor, params.id);
        const all = { limit: MAX_POLICIES_OF_TARGET, after: undefined };
        const attached = await stores.policies.list(actor.vaultId, { type: 'agent', id: found.id }, all);
        return { ...toAgentView(found), policies: attached.items.map(toPolicySummary) };
      },
    }),
    defineRoute('PATCH /api/agents/{id}', {
      ...byId,
      operation: 'updateAgent',
      summary: 'Change an agent; members left out stay',
      body: agentChangesSchema,
      response: agent,
      errors: ['CONFLICT'],
      change: async (inside, { body, params }) => toAgentView(await updateAgent(inside, params.id, body)),
    }),
    defineRoute('DELETE /api/agents/{id}', {
      ...byId,
      operation: 'deleteAgent',
      summary: 'Delete an agent and its grants, for good',
      change: (inside, { params }) => deleteAgent(inside, params.id),
    }),
    ...(['suspend', 'resume'] as const).map((verb) =>
      defineRoute(`POST /api/agents/{id}/${verb}`, {
        ...byId,
        operation: `${verb}Agent`,
        summary: verb === 'suspend' ? 'Block an agent everywhere' : 'Let a suspended agent in again',
        response: agent,
        errors: ['CONFLICT'],
        change: async (inside, { params }) => {
          const status = verb === 'suspend' ? 'suspended' : 'active';
          return toAgentView(await setAgentStatus(inside, params.id, status));
        },
      }),
    ),
    defineRoute('POST /api/agents/{id}/reveal-key', {
      ...byId,
      operation: 'revealAgentKey',
      summary: "Show an agent's key once more; audited",
      limit: {
        scope: 'key_reveal',
        target: async ({ actor, params }) => (await existingAgentOf(stores, actor, params.id)).id,
      },
      response: { status: 200, schema: apiKeySchema },
      errors: ['CONFLICT'],
      change: async (inside, { params }) => ({
        apiKey: await revealAgentKey(inside, params.id, masterKeys),
      }),
    }),
    defineRoute('POST /api/agents/{id}/rotate-key', {
      ...byId,
      operation: 'rotateAgentKey',
      summary: 'Give an agent a new key; the former one ends at once',
      response: { status: 200, schema: agentWithKeySchema },
      errors: ['CONFLICT'],
      change: async (inside, { params }) =>
        toAgentWithKey(await rotateAgentKey(inside, params.id, masterKeys)),
    }),
  ];
}
