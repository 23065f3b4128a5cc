import type { Id } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import { isResource } from './authorization-request.ts';

/** An error of the token endpoint: RFC 6749 section 5.2, RFC 8707 section 2. The description is for the client's developer. */
export interface TokenError {
  readonly error: 'invalid_grant' | 'invalid_target';
  readonly error_description: string;
}

export const invalidGrant = (error_description: string): TokenError => ({
  error: 'invalid_grant',
  error_description,
});

/** RFC 8707 section 2.2: tokens are for the approved resource, which an undefined one means. */
export function checkResource(resource: string | undefined, audience: string): TokenError | undefined {
  if (resource === undefined || isResource(resource, audience)) return undefined;
  return { error: 'invalid_target', error_description: 'the resource is not the one that was approved' };
}

/** The agent must be active with MCP on, whenever tokens are issued. */
export async function checkAgent(
  stores: Pick<Stores, 'agents'>,
  vaultId: Id<'vlt'>,
  agentId: Id<'agt'>,
): Promise<TokenError | undefined> {
  const agent = await stores.agents.get(vaultId, agentId);
  if (agent?.status !== 'active') return invalidGrant('the agent is not active');
  return agent.mcpEnabled ? undefined : invalidGrant('the agent may not use MCP');
}
