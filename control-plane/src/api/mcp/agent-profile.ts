import type { Caller } from '../../access/decision.ts';
import { MAX_POLICIES_OF_TARGET, type PolicyStore } from '../../core/policy.ts';
import type { AgentStatus, AgentStore } from '../../core/agent.ts';

/** What an agent may know of itself: neither who owns it by name, nor how its policies' rules are set. */
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
