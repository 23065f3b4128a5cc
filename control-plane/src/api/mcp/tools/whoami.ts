import { z } from 'zod';
import type { Caller } from '../../../access/decision.ts';
import { AGENT_STATUSES, type AgentStatus, type AgentStore } from '../../../core/agent.ts';
import { MAX_POLICIES_OF_TARGET, type PolicyStore } from '../../../core/policy.ts';
import {
  NO_ARGUMENTS,
  READ_ONLY,
  type Tool,
  grantSchema,
  oneLine,
  outputSchema,
  toolResult,
  unexpectedOutcome,
} from '../tool.ts';

/** What an agent may know of itself: neither its owner's name nor its policies' settings. */
export interface AgentProfile {
  readonly id: string;
  readonly name: string;
  readonly status: AgentStatus;
  readonly ownerId: string;
  /** Those in force. */
  readonly policies: readonly { readonly name: string; readonly ruleTypes: string[] }[];
}

/** @throws Error where the agent is gone, which no caller of a moment ago can be: agents are kept when they are deleted */
export type ReadAgentProfile = (caller: Caller) => Promise<AgentProfile>;

export function createReadAgentProfile(stores: {
  readonly agents: Pick<AgentStore, 'get'>;
  readonly policies: Pick<PolicyStore, 'list'>;
}): ReadAgentProfile {
  return async ({ vaultId, agentId }) => {
    const [agent, { items }] = await Promise.all([
      stores.agents.get(vaultId, agentId),
      stores.policies.list(
        vaultId,
        { type: 'agent', id: agentId },
        { limit: MAX_POLICIES_OF_TARGET, after: undefined },
      ),
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
  respond: async (granted) => {
    if (granted.outcome !== 'grants') throw unexpectedOutcome(granted);
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
