import { apiClient } from '../api/api-client.ts';
import type { Run } from '../invocation.ts';
import { printList } from '../output/print.ts';
import { say } from '../output/say.ts';
import { OWN_GRANTS, ownGrants } from './own-grants.ts';
import { tokenSchema } from './token.ts';
import { TOKENS, isForAnyHost } from './tokens-shape.ts';

/** `tokens list`; as an agent, what it is granted */
export const run: Run = async (invocation) => {
  const client = await apiClient(invocation, 'anybody');
  if (client.login.context.kind === 'agent')
    return printList(invocation, await ownGrants(client), OWN_GRANTS);
  const tokens = await client.readAll('/api/tokens', tokenSchema);
  printList(invocation, tokens, TOKENS);
  if (tokens.length > 0 && tokens.every(({ webhook }) => webhook === undefined))
    say(invocation, 'the webhook said nothing of them: it holds none, or is away (svault webhook status)');
  // Protocol 5.5: shown as a warning wherever tokens are listed.
  const anywhere = tokens.filter(isForAnyHost).map(({ serviceName }) => serviceName);
  if (anywhere.length > 0)
    say(invocation, `warning: proxies may send these to any host on the internet: ${anywhere.join(', ')}`);
};
