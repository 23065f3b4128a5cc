import type { Schemas } from '../api/client.ts';

type Channel = Schemas['Reach']['channels'][number]['channel'];
type Denial = NonNullable<Schemas['Reach']['channels'][number]['denial']>;

export const CHANNEL_NAMES: Readonly<Record<Channel, string>> = {
  rest: 'REST',
  mcp: 'MCP tools',
  proxy: 'MCP proxy',
};

/** What a denial means, and the command that ends it. */
export const DENIALS: Readonly<
  Record<Denial | 'NO_GRANT', { readonly text: string; readonly command?: string }>
> = {
  AGENT_INACTIVE: { text: 'The agent is suspended or deleted.', command: 'svault agents resume AGENT' },
  MCP_DISABLED: { text: 'MCP is off for this agent.', command: 'svault agents edit AGENT --mcp' },
  VAULT_LOCKED: { text: 'The vault is locked.', command: 'svault vault unlock' },
  GRANT_EXPIRED: {
    text: 'The grant has expired.',
    command: 'svault grant AGENT SERVICE --renew --expires 7d',
  },
  NO_GRANT: { text: 'There is no grant.', command: 'svault grant AGENT SERVICE' },
  WEBHOOK_NOT_CONFIGURED: { text: 'No webhook is bound.' },
  WEBHOOK_UNAVAILABLE: { text: 'The webhook does not answer.', command: 'svault webhook status' },
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
