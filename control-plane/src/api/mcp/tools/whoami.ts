import * as z from 'zod';
import type { Caller } from '../../../access/decision.ts';
import { AGENT_STATUSES, type AgentStore } from '../../../core/agent.ts';
import { MAX_POLICIES_OF_TARGET, type PolicyStore } from '../../../core/policy.ts';
import { defineTool, grantSchema, NO_ARGUMENTS, oneLine, type Tool, toolResult } from '../tool.ts';

/** Specification, "whoami": neither the owner's e-mail nor a rule's settings. */
const resultSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: z.enum(AGENT_STATUSES),
  ownerId: z.string(),
  grants: z.array(grantSchema),
  policies: z.array(z.strictObject({ name: z.string(), ruleTypes: z.array(z.string()) })),
});

/**
 * What an agent may know of itself: the policies are those in force.
 *
 * @throws Error where the agent is gone, which no caller of a moment ago can be: agents are kept when they are deleted
 */
export type ReadAgentProfile = (caller: Caller) => Promise<Omit<z.infer<typeof resultSchema>, 'grants'>>;

export function createReadAgentProfile(stores: {
  readonly agents: Pick<AgentStore, 'get'>;
  readonly policies: Pick<PolicyStore, 'list'>;
}): ReadAgentProfile {
  return async ({ vaultId, agentId }) => {
    const target = { type: 'agent', id: agentId } as const;
    const page = { limit: MAX_POLICIES_OF_TARGET, after: undefined };
    const [agent, { items }] = await Promise.all([
      stores.agents.get(vaultId, agentId),
      stores.policies.list(vaultId, target, page),
    ]);
    if (agent === undefined) throw new Error('an agent that was let in is not there');
    const { id, name, status, ownerId } = agent;
    const policies = items
      .filter(({ enabled }) => enabled)
      .map((policy) => ({
        name: policy.name,
        ruleTypes: [...new Set(policy.rules.map(({ type }) => type))],
      }));
    return { id, name, status, ownerId, policies };
  };
}

/** Tells an agent who it is here. */
export const whoami = (readProfile: ReadAgentProfile): Tool =>
  defineTool({
    name: 'whoami',
    title: 'Who am I',
    description:
      'Tells which agent this is, its active grants, and the names and rule types of the policies that its accesses are held against.',
    input: NO_ARGUMENTS,
    output: resultSchema,
    outcome: 'grants',
    operation: () => ({ kind: 'grants' }),
    respond: async (granted) => {
      const { policies, ...agent } = await readProfile(granted.caller);
      const grants = granted.grants.map(({ serviceName, grantExpiresAt, refreshPolicy }) => ({
        serviceName,
        grantExpiresAt,
        refreshPolicy,
      }));
      const result: z.infer<typeof resultSchema> = { ...agent, grants, policies };
      const services = grants.map(({ serviceName }) => serviceName);
      const rules = policies.map((policy) => `${oneLine(policy.name)} (${policy.ruleTypes.join(', ')})`);
      return toolResult(
        `Agent ${oneLine(agent.name)} (${agent.id}), ${agent.status}.\n` +
          `Grants: ${services.join(', ') || 'none'}.\nPolicies: ${rules.join(', ') || 'none'}.`,
        result,
      );
    },
  });
