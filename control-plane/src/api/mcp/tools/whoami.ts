import { z } from 'zod';
import type { ReadAgentProfile } from '../agent-profile.ts';
import { AGENT_STATUSES } from '../../../core/agent.ts';
import { grantSchema } from '../grant-schema.ts';
import { NO_ARGUMENTS, READ_ONLY, type Tool, oneLine, outputSchema, toolResult, unfitting } from '../tool.ts';

/** Specification, "whoami": neither the owner's e-mail nor a rule's settings. */
const resultSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: z.enum(AGENT_STATUSES),
  ownerId: z.string(),
  grants: z.array(grantSchema),
  policies: z.array(z.strictObject({ name: z.string(), ruleTypes: z.array(z.string()) })),
});

/** Tells an agent who it is here. */
export const whoami = (readProfile: ReadAgentProfile): Tool => ({
  definition: {
    name: 'whoami',
    title: 'Who am I',
    description:
      'Tells which agent this is, its active grants, and the names and rule types of the policies that its accesses are held against.',
    inputSchema: NO_ARGUMENTS,
    outputSchema: outputSchema(resultSchema),
    annotations: READ_ONLY,
  },
  operation: () => ({ kind: 'grants' }),
  answer: async (granted) => {
    if (granted.outcome !== 'grants') throw unfitting(granted);
    const { id, name, status, ownerId, policies } = await readProfile(granted.caller);
    const grants = granted.grants.map(({ serviceName, grantExpiresAt, refreshPolicy }) => ({
      serviceName,
      grantExpiresAt,
      refreshPolicy,
    }));
    const result: z.infer<typeof resultSchema> = {
      id,
      name,
      status,
      ownerId,
      grants,
      policies: [...policies],
    };
    const services = grants.map(({ serviceName }) => serviceName);
    const rules = policies.map((policy) => `${oneLine(policy.name)} (${policy.ruleTypes.join(', ')})`);
    return toolResult(
      `Agent ${oneLine(name)} (${id}), ${status}.\n` +
        `Grants: ${services.join(', ') || 'none'}.\nPolicies: ${rules.join(', ') || 'none'}.`,
      result,
    );
  },
});
