import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import { thumbprintSchema } from '@svault/shared/schemas';
import { z } from 'zod';
import { AGENT_STATUSES, type Agent } from '../../core/agent.ts';
import { ownOf } from '../../core/change.ts';
import type { Stores } from '../../core/stores.ts';
import {
  createAgent,
  deleteAgent,
  existingAgentOf,
  revealAgentKey,
  rotateAgentKey,
  setAgentStatus,
  updateAgent,
} from '../../management/agents.ts';
import {
  idParams,
  lineSchema,
  pageQuery,
  pageRequest,
  pageSchema,
  textSchema,
  timeSchema,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const nameSchema = lineSchema(100);
const descriptionSchema = textSchema(1_000);

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

const agentWithKeySchema = z.object({
  agent: agentSchema,
  apiKey: z.string().meta({ description: 'The key, in full; keep it now' }),
});

const apiKeySchema = z.object({ apiKey: z.string() });

const newAgentSchema = z
  .strictObject({
    name: nameSchema,
    description: descriptionSchema.optional(),
    mcpEnabled: z.boolean().optional(),
    sealingKeyThumbprint: thumbprintSchema.optional(),
  })
  .meta({ id: 'NewAgent' });

const agentChangesSchema = z
  .strictObject({
    name: nameSchema.optional(),
    description: descriptionSchema.optional(),
    mcpEnabled: z.boolean().optional(),
    sealingKeyThumbprint: thumbprintSchema.nullable().optional(),
  })
  .meta({ id: 'AgentChanges' });

export function toAgentView(agent: Agent): z.output<typeof agentSchema> {
  const { vaultId: _own, sealingKeyThumbprint, lastUsedAt, ...shown } = agent;
  return {
    ...shown,
    ...(sealingKeyThumbprint !== undefined && { sealingKeyThumbprint }),
    lastUsedAt: lastUsedAt ?? null,
  };
}

export function createAgentRoutes({
  clock,
  masterKeys,
  stores,
}: {
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
  readonly stores: Pick<Stores, 'agents'>;
}): readonly ManagementRoute[] {
  const shared = { tag: 'Agents', role: 'member' } as const;
  const byId = { ...shared, params: idParams } as const;
  const agent = { status: 200, schema: agentSchema } as const;
  return [
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/agents',
      operation: 'createAgent',
      summary: 'Create an agent; its key is in the answer',
      whenLocked: 'denied',
      audit: ['AGENT_CREATED'],
      body: newAgentSchema,
      response: { status: 201, schema: agentWithKeySchema },
      handle: async ({ body, transaction }) => {
        const made = await transaction((inside) => createAgent(inside, body, { clock, masterKeys }));
        return { agent: toAgentView(made.agent), apiKey: made.apiKey };
      },
    }),
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/agents',
      operation: 'listAgents',
      summary: 'List agents, oldest first; deleted ones only when asked for',
      whenLocked: 'allowed',
      audit: [],
      query: z.strictObject({ ...pageQuery, status: z.enum(AGENT_STATUSES).optional() }),
      response: { status: 200, schema: pageSchema(agentSchema) },
      handle: async ({ actor, query }) => {
        const page = await stores.agents.list(actor.vaultId, query.status, pageRequest(query, 2));
        return { ...page, items: page.items.map(toAgentView) };
      },
    }),
    defineRoute({
      ...byId,
      method: 'get',
      path: '/api/agents/{id}',
      operation: 'getAgent',
      summary: 'Read an agent, a deleted one too',
      whenLocked: 'allowed',
      audit: [],
      response: agent,
      handle: async ({ actor, params }) => toAgentView(await ownOf(stores.agents, actor, params.id)),
    }),
    defineRoute({
      ...byId,
      method: 'patch',
      path: '/api/agents/{id}',
      operation: 'updateAgent',
      summary: 'Change an agent; members left out stay',
      whenLocked: 'denied',
      audit: ['AGENT_UPDATED'],
      body: agentChangesSchema,
      response: agent,
      errors: ['CONFLICT'],
      handle: async ({ body, transaction, params }) =>
        toAgentView(await transaction((inside) => updateAgent(inside, params.id, body))),
    }),
    defineRoute({
      ...byId,
      method: 'delete',
      path: '/api/agents/{id}',
      operation: 'deleteAgent',
      summary: 'Delete an agent and its grants, for good',
      whenLocked: 'denied',
      audit: ['POLICY_DETACHED', 'AGENT_DELETED'],
      response: { status: 204 },
      handle: ({ transaction, params }) => transaction((inside) => deleteAgent(inside, params.id)),
    }),
    ...(['suspend', 'resume'] as const).map((verb) =>
      defineRoute({
        ...byId,
        method: 'post',
        path: `/api/agents/{id}/${verb}`,
        operation: `${verb}Agent`,
        summary: verb === 'suspend' ? 'Block an agent everywhere' : 'Let a suspended agent in again',
        whenLocked: 'denied',
        audit: [verb === 'suspend' ? 'AGENT_SUSPENDED' : 'AGENT_RESUMED'],
        response: agent,
        errors: ['CONFLICT'],
        handle: async ({ transaction, params }) => {
          const status = verb === 'suspend' ? 'suspended' : 'active';
          return toAgentView(await transaction((inside) => setAgentStatus(inside, params.id, status)));
        },
      }),
    ),
    defineRoute({
      ...byId,
      method: 'post',
      path: '/api/agents/{id}/reveal-key',
      operation: 'revealAgentKey',
      summary: "Show an agent's key once more; audited",
      whenLocked: 'denied',
      audit: ['KEY_REVEALED'],
      limit: {
        scope: 'key_reveal',
        target: async ({ actor, params }) => (await existingAgentOf(stores, actor, params.id)).id,
      },
      response: { status: 200, schema: apiKeySchema },
      errors: ['CONFLICT'],
      handle: async ({ transaction, params }) => ({
        apiKey: await transaction((inside) => revealAgentKey(inside, params.id, masterKeys)),
      }),
    }),
    defineRoute({
      ...byId,
      method: 'post',
      path: '/api/agents/{id}/rotate-key',
      operation: 'rotateAgentKey',
      summary: 'Give an agent a new key; the former one ends at once',
      whenLocked: 'denied',
      audit: ['KEY_ROTATED'],
      response: { status: 200, schema: agentWithKeySchema },
      errors: ['CONFLICT'],
      handle: async ({ transaction, params }) => {
        const rotated = await transaction((inside) => rotateAgentKey(inside, params.id, masterKeys));
        return { agent: toAgentView(rotated.agent), apiKey: rotated.apiKey };
      },
    }),
  ];
}
