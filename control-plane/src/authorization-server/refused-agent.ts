import type { Id } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import { type TokenRefusal, invalidGrant } from './token-refusal.ts';

/**
 * Why an agent gives its client no tokens now; undefined where it does. Specification, "OAuth session token": every
 * refresh re-checks the agent's status; "Agent": MCP must be on.
 */
export async function refusedAgent(
  stores: Pick<Stores, 'agents'>,
  vaultId: Id<'vlt'>,
  agentId: Id<'agt'>,
): Promise<TokenRefusal | undefined> {
  const agent = await stores.agents.get(vaultId, agentId);
  if (agent?.status !== 'active') return invalidGrant('the agent is not active');
  return agent.mcpEnabled ? undefined : invalidGrant('the agent may not use MCP');
}
