import type { Schemas } from '../api/client.ts';

type Channel = Schemas['Reach']['channels'][number]['channel'];
type Denial = NonNullable<Schemas['Reach']['channels'][number]['denial']>;

export const CHANNEL_NAMES: Readonly<Record<Channel, string>> = {
  rest: 'REST',
  mcp: 'MCP tools',
  proxy: 'Proxy',
};

/** What a denial means. */
export const DENIALS: Readonly<Record<Denial | 'NO_GRANT', { readonly text: string }>> = {
  AGENT_INACTIVE: { text: 'The agent is not active.' },
  MCP_DISABLED: { text: 'MCP is off for this agent.' },
  VAULT_LOCKED: { text: 'The vault is locked.' },
  GRANT_EXPIRED: { text: 'The grant has expired.' },
  NO_GRANT: { text: 'There is no grant.' },
  WEBHOOK_NOT_CONFIGURED: { text: 'No webhook is bound.' },
  WEBHOOK_UNAVAILABLE: { text: 'The webhook does not answer.' },
  DESTINATION_NOT_ALLOWED: { text: 'The credential may not be sent to the upstream of this proxy.' },
};

/** What an agent without a grant is denied with, in the order in which requests are decided. */
export function denialsWithoutGrant(
  { status, mcpEnabled }: Pick<Schemas['AgentDetail'], 'status' | 'mcpEnabled'>,
  locked: boolean,
): readonly { readonly channel: Channel; readonly denial: Denial | 'NO_GRANT' }[] {
  const denial = locked ? 'VAULT_LOCKED' : 'NO_GRANT';
  return (['rest', 'mcp'] as const).map((channel) => {
    if (status !== 'active') return { channel, denial: 'AGENT_INACTIVE' };
    return { channel, denial: channel === 'mcp' && !mcpEnabled ? 'MCP_DISABLED' : denial };
  });
}
