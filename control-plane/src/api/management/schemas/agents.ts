import { z } from 'zod';
import { AGENT_STATUSES, type Agent } from '../../../core/agent.ts';
import { thumbprintSchema } from '@svault/shared/schemas';
import { lineSchema, textSchema, timeSchema } from './fields.ts';

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

export const agentWithKeySchema = z.object({
  agent: agentSchema,
  apiKey: z.string().meta({ description: 'The key, in full; keep it now' }),
});

export const apiKeySchema = z.object({ apiKey: z.string() });

export const newAgentSchema = z
  .strictObject({
    name: nameSchema,
    description: descriptionSchema.optional(),
    mcpEnabled: z.boolean().optional(),
    sealingKeyThumbprint: thumbprintSchema.optional(),
  })
  .meta({ id: 'NewAgent' });

export const agentChangesSchema = z
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
