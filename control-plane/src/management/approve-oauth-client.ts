import { type Clock, formatTime, hashKey, randomToken } from '@svault/shared';
import { updateAgent } from './agents.ts';
import type { Change } from '../core/stores.ts';
import type { OauthCode } from '../core/oauth-session.ts';

/** A client exchanges its code at once (RFC 6749 section 4.1.2 recommends 10 minutes at most). */
const CODE_LIFETIME_MS = 60_000;
const CODE_BYTES = 32;

type Asked = 'clientId' | 'clientName' | 'redirectUri' | 'codeChallenge' | 'audience';

/** What a user consented to. */
interface Approval extends Pick<OauthCode, Asked> {
  /** As the page's form sent it. */
  readonly agentId: string;
  /** Switches MCP on for the agent, where it is off. */
  readonly switchMcpOn: boolean;
}

/**
 * Issues an authorization code (RFC 6749 section 4.1.2) that lets a client act as one of the account's agents, and switches
 * the agent's MCP on in the same transaction.
 *
 * @returns the code, which is stored as a hash; with a refusal nothing is written
 */
export async function issueCode(
  change: Change,
  { agentId, switchMcpOn, ...asked }: Approval,
  clock: Clock,
): Promise<{ readonly code: string } | { readonly refused: 'no_such_agent' | 'mcp_is_off' }> {
  const { vaultId, userId } = change.actor;
  const agent = await change.agents.get(vaultId, agentId);
  if (agent?.status !== 'active') return { refused: 'no_such_agent' };
  if (!agent.mcpEnabled && !switchMcpOn) return { refused: 'mcp_is_off' };
  if (!agent.mcpEnabled) await updateAgent(change, agent.id, { mcpEnabled: true });
  const code = randomToken(CODE_BYTES);
  const expiresAt = formatTime(clock.now() + CODE_LIFETIME_MS);
  await change.oauthCodes.add({
    ...asked,
    codeHash: hashKey(code),
    vaultId,
    userId,
    agentId: agent.id,
    expiresAt,
  });
  return { code };
}
