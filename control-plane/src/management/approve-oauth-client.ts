import { type Clock, formatTime, hashKey, randomToken } from '@svault/shared';
import type { Actor } from '../core/actor.ts';
import { updateAgent } from './manage-agents.ts';
import type { Stores } from '../core/stores.ts';
import type { OauthCode } from '../core/oauth-session.ts';

/** How long a code waits for its client; a program fetches it at once (RFC 6749 section 4.1.2: 10 minutes at most). */
const CODE_LIFETIME_MS = 60_000;
const CODE_BYTES = 32;

/** Which client asked for what, and where it wants the answer. */
type Asked = 'clientId' | 'clientName' | 'redirectUri' | 'codeChallenge' | 'audience';

/** What a person let a client do. */
export interface Approval extends Pick<OauthCode, Asked> {
  /** As the page's form brought it. */
  readonly agentId: string;
  /** Lets the agent use MCP from now on, where it does not yet (specification, "Agent"). */
  readonly switchMcpOn: boolean;
}

/**
 * Lets a client act as one of the account's agents, for {@link CODE_LIFETIME_MS} until it comes for its tokens. Within the
 * transaction of a change, so that an agent whose MCP is switched on here and the code are there together.
 *
 * @returns the code, of which only the hash is kept; with a refusal nothing is written
 */
export async function issueCode(
  stores: Pick<Stores, 'agents' | 'audit' | 'oauthCodes'>,
  actor: Actor,
  approval: Approval,
  clock: Clock,
): Promise<{ readonly code: string } | { readonly refused: 'no_such_agent' | 'mcp_is_off' }> {
  const { agentId, switchMcpOn, ...asked } = approval;
  const agent = await stores.agents.get(actor.vaultId, agentId);
  if (agent?.status !== 'active') return { refused: 'no_such_agent' };
  if (!agent.mcpEnabled && !switchMcpOn) return { refused: 'mcp_is_off' };
  if (!agent.mcpEnabled) await updateAgent(stores, actor, agent.id, { mcpEnabled: true });
  const code = randomToken(CODE_BYTES);
  await stores.oauthCodes.add({
    ...asked,
    codeHash: hashKey(code),
    vaultId: actor.vaultId,
    userId: actor.userId,
    agentId: agent.id,
    expiresAt: formatTime(clock.now() + CODE_LIFETIME_MS),
  });
  return { code };
}
